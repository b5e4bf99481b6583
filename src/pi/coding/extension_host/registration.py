"""What every registration gives back."""

from __future__ import annotations

from collections.abc import Callable


class Registration:
    """Something that an extension has registered, until it is removed or its scope ends."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    def remove(self) -> None:
        """Take it back; once is enough, and twice does no harm."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def forget(self) -> None:
        """Leave it as it is: somebody else has ended it."""
        self._end = None

    @property
    def active(self) -> bool:
        """Whether it still counts."""
        return self._end is not None
