"""Which rows are history, which are the window, and which may become history now. Pure.

A frame is all rows that the components returned, from the very first. Its rows ``[0, committed)``
are in the terminal's scrollback and final; the window shows the rows from ``top`` on. Rows at or
below the *boundary* may still change and must not become history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pi.base.records import Record, replace
from pi.tui.screen.rows import Caret
from pi.tui.text.ansi import strip_sequences


class Ledger(Record):
    """How far history goes, and where the window begins."""

    committed: int = 0
    top: int = 0


def advance(
    ledger: Ledger, *, length: int, height: int, boundary: int, frozen: bool = False
) -> Ledger:
    """The ledger after a frame of ``length`` rows on a window of ``height`` rows.

    ``frozen`` keeps rows from entering history: while an overlay covers them, what scrolls out
    would take the overlay along. They follow when the overlay is gone.
    """
    if 0 < ledger.committed >= length:
        return _shrunk_into_history(length=length, height=height, boundary=boundary)
    top = max(ledger.committed, length - height)
    if frozen:
        return Ledger(committed=ledger.committed, top=top)
    return Ledger(committed=max(ledger.committed, min(boundary, top)), top=top)


def _shrunk_into_history(*, length: int, height: int, boundary: int) -> Ledger:
    """Nothing is left below history: show the end of the frame again, erase nothing above it."""
    top = max(0, length - height)
    return Ledger(committed=min(boundary, top), top=top)


# What stands on the terminal below its history, as far as it is known.


class Window:
    """What stands on the terminal: at first a line with nothing on it, where the cursor is."""

    def __init__(self, rows: int = 1) -> None:
        self.rows = [""] * rows
        self.cursor = Caret(rows - 1, 0)
        self.way = ""
        """What brings the cursor where it is said to be, if that is not known."""
        self.cursor_is_shown = False
        self.is_covered = False
        """Whether an overlay lies over the rows."""
        self.is_trusted = False
        """Whether the terminal is known to be as we left it, from the first row on."""


def found_at(top: int, *, height: int) -> Window:
    """The window from a row of the screen on; the cursor may be anywhere."""
    window = Window(height - top)
    window.cursor = Caret(0, 0)
    window.way = f"\x1b[{height}A" + (f"\x1b[{top}B" if top else "")
    return window


def disturbed(window: Window, *, before: int, height: int) -> Window:
    """A window that filled the screen until frames were written that did not fit any more.

    They left the cursor anywhere. Rows that history may have given back are left alone: those by
    which the screen is higher, and as many as a screen that gets lower and higher gives up at its
    end, below the cursor.
    """
    kept = len(window.rows) - 1 - window.cursor.row + max(0, height - before)
    return found_at(min(kept, height - 1), height=height)


# What is known to stand on the terminal, since it has said at which size it took each frame.
#
# A multiplexer changes its grid first and tells of it later. A frame that is written in between
# was made for rows that stand elsewhere by now: it goes astray, and what it should have put into
# history may not be there. Every frame is therefore followed by a question for the size
# (``ASK_SIZE``), which is answered from the grid that took the frame. Terminals that do not
# answer are trusted.


ASK_SIZE = "\x1b[18t"

_MAX_OPEN = 200
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
        self._open: deque[Checkpoint] = deque(maxlen=_MAX_OPEN)
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
        self._open = deque((_cut(each, rows) for each in self._open), _MAX_OPEN)
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


# Notices that rows which are already history have shifted, so that none is lost.
#
# A row in the scrollback cannot be changed. When a component changes it all the same, there are
# two cases. Single rows edited or restyled in place: the copy in history is out of date, and
# stays. Rows inserted or removed: everything below has moved, and a row would be skipped or shown
# twice; then history is continued from the first row that differs. Duplicated, never lost.


SAMPLED_ROWS = 8
"""How many rows that are not blank are compared, from the end of history upwards."""
REACH = 24
"""How far upwards to look for them."""


def first_shifted_row(
    history: Sequence[str], before: Sequence[str], frame: Sequence[str], *, settled: int
) -> int | None:
    """Where history must be continued, or None if it still stands as ``frame`` has it.

    ``before`` is the frame that was painted last. Its rows from ``settled`` on were not final; if
    a resize has moved some of them into history, every change of them counts.
    """
    restarts = (_shifted(history, before, frame), _changed(history, frame, settled))
    return min((row for row in restarts if row is not None), default=None)


def _changed(history: Sequence[str], frame: Sequence[str], settled: int) -> int | None:
    """The first row at or behind ``settled`` that was written and is different now."""
    rows = range(settled, min(len(history), len(frame)))
    return next((row for row in rows if _text(history[row]) != _text(frame[row])), None)


def _shifted(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> int | None:
    """The first row that differs, if rows have come or gone."""
    if len(frame) <= len(history):
        start = _first_difference(history[: len(frame)], frame)
        return start if start < len(frame) else None
    if _is_aligned(history, before, frame):
        return None
    return _first_difference(history, frame)


def _is_aligned(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> bool:
    """Whether the last rows of history are where they were, but for one edited in place."""
    different: list[int] = []
    equal = 0
    for index in range(len(history) - 1, max(len(history) - 1 - REACH, -1), -1):
        old, new = history[index], frame[index]
        if old is not new and _text(old) != _text(new):
            different.append(index)
        elif _text(old):
            equal += 1
        if equal + len(different) == SAMPLED_ROWS or len(different) > 1:
            break
    if len(different) == 1 and equal:
        return not _has_moved(different[0], history, before, frame)
    return not different


def _has_moved(
    row: int, history: Sequence[str], before: Sequence[str], frame: Sequence[str]
) -> bool:
    """Whether a row that changed was not edited, but made room for another or took its place.

    Rows that come or go at the very end of history disturb only one row of it.
    """
    below = slice(row + 1, row + 1 + REACH)
    old, new = _text(history[row]), _text(frame[row])
    return old in map(_text, frame[below]) or new in map(_text, before[below])


def _first_difference(history: Sequence[str], frame: Sequence[str]) -> int:
    for index, (old, new) in enumerate(zip(history, frame, strict=False)):
        if old is not new and _text(old) != _text(new):
            return index
    return min(len(history), len(frame))


def _text(row: str) -> str:
    """What a reader sees of a row; a change of style alone is no change."""
    return strip_sequences(row).rstrip()
