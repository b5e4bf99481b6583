"""The texts that were deleted in pieces larger than a character, to insert them again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

MOST_ENTRIES = 60


class KillRing:
    """Deleted texts, the latest first in line."""

    def __init__(self) -> None:
        self._entries: deque[str] = deque(maxlen=MOST_ENTRIES)

    def add(self, text: str) -> None:
        """Keep a text."""
        if text:
            self._entries.append(text)

    def extend(self, text: str, *, at_front: bool) -> None:
        """Make a text part of the latest one, because it was deleted right after it."""
        latest = self._entries.pop() if self._entries else ""
        self.add(text + latest if at_front else latest + text)

    @property
    def latest(self) -> str:
        """The text to insert; empty if nothing was deleted yet."""
        return self._entries[-1] if self._entries else ""

    def rotate(self) -> str:
        """Put the latest text last, and give the one before it."""
        self._entries.rotate(1)
        return self.latest

    def change(self, each: Callable[[str], str]) -> None:
        """Replace every text by what ``each`` makes of it."""
        self._entries = deque(map(each, self._entries), maxlen=MOST_ENTRIES)
