"""How many pictures stay on the screen at a time."""

from __future__ import annotations


class ImageBudget:
    """Keeps the most recent pictures and says which must go."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """How many; a lower one counts from the next picture on."""
        self._live: dict[int, None] = {}
        """Numbers of the pictures that are shown, oldest first."""
        self._demoted: set[int] = set()

    def admit(self, number: int) -> list[int]:
        """Make room for a picture that is shown for the first time; those that go for it."""
        if self.limit < 1:
            self._demoted.add(number)
            return []
        self._live[number] = None
        excess = list(self._live)[: max(len(self._live) - self.limit, 0)]
        for old in excess:
            del self._live[old]
        self._demoted.update(excess)
        return excess

    def is_known(self, number: int) -> bool:
        """Whether a picture was admitted before, whatever became of it."""
        return number in self._live or number in self._demoted

    def is_live(self, number: int) -> bool:
        """Whether a picture may be shown; one that had to go does not come back."""
        return number in self._live
