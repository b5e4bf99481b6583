"""What is known to stand on the terminal, since it has said at which size it took each frame.

A multiplexer changes its grid first and tells of it later. A frame that is written in between was
made for rows that stand elsewhere by now: it goes astray, and what it should have put into history
may not be there. Every frame is therefore followed by a question for the size (``ASK_SIZE``), which
is answered from the grid that took the frame. Terminals that do not answer are trusted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pi.base.records import Record, replace
from pi.tui.screen.ledger import Ledger
from pi.tui.screen.rows import Caret

ASK_SIZE = "\x1b[18t"

_MOST_OPEN = 200
"""Questions that are kept open; a terminal that leaves more of them unanswered never answers."""


class Checkpoint(Record):
    """The screen after a frame."""

    ledger: Ledger
    rows: Sequence[str]
    """All rows of the frame."""
    boundary: int
    staying: int | None
    window: Sequence[str]
    cursor: Caret
    is_covered: bool
    is_placed: bool = False
    """Whether it was counted from the edge of the screen where to paint the frame."""


class Checkpoints:
    """Finds the last frame before one that went astray."""

    def __init__(self) -> None:
        self._open: deque[Checkpoint] = deque(maxlen=_MOST_OPEN)
        self._good: Checkpoint | None = None
        self._is_astray = False
        self._is_answered = False
        """Whether the terminal has ever answered with the size that it is known to have."""

    def ask(self, checkpoint: Checkpoint) -> None:
        """A frame was written, with the question behind it."""
        self._open.append(checkpoint)

    def answer(self, *, fits: bool, is_higher: bool = False) -> None:
        """The oldest open question is answered: whether the frame was made for such a grid.

        One that is only higher is as good, unless the frame was placed by the edge of the screen.
        """
        if not self._open:
            return
        checkpoint = self._open.popleft()
        if not (fits or (is_higher and not checkpoint.is_placed)):
            self._is_astray = True
        elif not self._is_astray:
            self._good, self._is_answered = checkpoint, True

    def cut(self, rows: int) -> None:
        """History was given up from a row on: no way leads back to what was behind it."""
        self._open = deque((_cut(each, rows) for each in self._open), _MOST_OPEN)
        self._good = self._good and _cut(self._good, rows)

    def last_good(self) -> Checkpoint | None:
        """Where to go back to; None if no frame went astray, as far as the terminal tells."""
        may_be_astray = self._is_astray or bool(self._open)
        return self._good if self._is_answered and may_be_astray else None

    def begin(self, checkpoint: Checkpoint | None = None) -> None:
        """Forget all frames; this is what stands there now, if it is known."""
        self._open.clear()
        self._good, self._is_astray = checkpoint, False


def _cut(checkpoint: Checkpoint, rows: int) -> Checkpoint:
    ledger = checkpoint.ledger
    committed = min(ledger.committed, rows)
    return replace(checkpoint, ledger=Ledger(committed=committed, top=ledger.top))
