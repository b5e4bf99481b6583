"""The prompts of before, to go through with the arrow keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

MAX_HISTORY_ENTRIES = 100


class PromptHistory:
    """Earlier prompts, and the draft that was there before going through them."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._at: int | None = None
        self._draft = ""

    def add(self, text: str) -> None:
        """Keep a prompt, unless it is empty or the same as the last one."""
        text = text.strip()
        if text and text != (self._entries[-1] if self._entries else ""):
            self._entries.append(text)
            del self._entries[:-MAX_HISTORY_ENTRIES]
        self.leave()

    @property
    def browsing(self) -> bool:
        """Whether an earlier prompt is shown in place of the draft."""
        return self._at is not None

    def previous(self, draft: str) -> str | None:
        """The prompt before the one shown, if there is one; the ``draft`` is kept meanwhile."""
        at = len(self._entries) if self._at is None else self._at
        if at == 0:
            return None
        if self._at is None:
            self._draft = draft
        self._at = at - 1
        return self._entries[self._at]

    def next(self) -> str | None:
        """The prompt after the one shown, at last the draft; nothing if that is shown already."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self._entries):
            return self._entries[self._at]
        self.leave()
        return self._draft

    def leave(self) -> None:
        """Take what is shown for the draft from now on."""
        self._at = None


# The texts that were deleted in pieces larger than a character, to insert them again.


MAX_KILL_RING_ENTRIES = 60


class KillRing:
    """Deleted texts, the latest first in line."""

    def __init__(self) -> None:
        self._entries: deque[str] = deque(maxlen=MAX_KILL_RING_ENTRIES)

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
        self._entries = deque(map(each, self._entries), maxlen=MAX_KILL_RING_ENTRIES)
