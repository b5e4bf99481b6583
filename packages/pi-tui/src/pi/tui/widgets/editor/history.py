"""The prompt history and the kill ring."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

MAX_HISTORY_ENTRIES = 100


class PromptHistory:
    """Earlier prompts, and the draft from before browsing them."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._index: int | None = None
        self._draft = ""

    def add(self, text: str) -> None:
        """Add a prompt, unless it is empty or equal to the last one."""
        text = text.strip()
        if text and text != (self._entries[-1] if self._entries else ""):
            self._entries.append(text)
            del self._entries[:-MAX_HISTORY_ENTRIES]
        self.leave()

    @property
    def entries(self) -> Sequence[str]:
        """The prompts, the oldest first."""
        return tuple(self._entries)

    @property
    def browsing(self) -> bool:
        """Whether an earlier prompt is shown instead of the draft."""
        return self._index is not None

    def previous(self, draft: str) -> str | None:
        """Return the prompt before the current one, if any. Saves the ``draft`` first."""
        index = len(self._entries) if self._index is None else self._index
        if index == 0:
            return None
        if self._index is None:
            self._draft = draft
        self._index = index - 1
        return self._entries[self._index]

    def next(self) -> str | None:
        """Return the prompt after the current one, finally the draft; None after that."""
        if self._index is None:
            return None
        self._index += 1
        if self._index < len(self._entries):
            return self._entries[self._index]
        self.leave()
        return self._draft

    def leave(self) -> None:
        """Make the shown text the new draft."""
        self._index = None


MAX_KILL_RING_ENTRIES = 60


class KillRing:
    """Killed texts, latest first, for ``yank``."""

    def __init__(self) -> None:
        self._entries: deque[str] = deque(maxlen=MAX_KILL_RING_ENTRIES)

    def add(self, text: str) -> None:
        """Add a text."""
        if text:
            self._entries.append(text)

    def extend(self, text: str, *, at_front: bool) -> None:
        """Extend the latest text by one that was deleted directly after it."""
        latest = self._entries.pop() if self._entries else ""
        self.add(text + latest if at_front else latest + text)

    @property
    def latest(self) -> str:
        """The text to insert; empty if nothing was killed yet."""
        return self._entries[-1] if self._entries else ""

    def rotate(self) -> str:
        """Move the latest text to the end. Returns the one before it."""
        self._entries.rotate(1)
        return self.latest

    def change(self, transform: Callable[[str], str]) -> None:
        """Replace every text by the result of ``transform``."""
        self._entries = deque(map(transform, self._entries), maxlen=MAX_KILL_RING_ENTRIES)
