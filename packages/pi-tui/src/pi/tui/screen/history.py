"""The rows in the scrollback, the rows in the window, and what the terminal shows. Pure.

A frame consists of all rows that the components returned. Rows before ``committed`` are in the
terminal's scrollback ("history") and final. The window shows the rows from ``top`` on. Rows from
``boundary`` on may still change and must not become history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pi.base.records import Record, replace
from pi.tui.screen.rows import Caret
from pi.tui.text.ansi import strip_sequences


class Ledger(Record):
    """The number of committed rows and the start of the window."""

    committed: int = 0
    top: int = 0


def advance(
    ledger: Ledger, *, length: int, height: int, boundary: int, frozen: bool = False
) -> Ledger:
    """Return the ledger after a frame of ``length`` rows in a window of ``height`` rows.

    ``frozen`` keeps rows out of history while an overlay covers them, because the overlay would
    scroll out with them. They are committed when the overlay is gone.
    """
    if 0 < ledger.committed >= length:
        return _shrunk_into_history(length=length, height=height, boundary=boundary)
    top = max(ledger.committed, length - height)
    if frozen:
        return Ledger(committed=ledger.committed, top=top)
    return Ledger(committed=max(ledger.committed, min(boundary, top)), top=top)


def _shrunk_into_history(*, length: int, height: int, boundary: int) -> Ledger:
    """Handle a frame that is shorter than history: show its end again, erase nothing above."""
    top = max(0, length - height)
    return Ledger(committed=min(boundary, top), top=top)


class Window:
    """The known contents of the terminal below its history, initially one empty line."""

    def __init__(self, rows: int = 1) -> None:
        self.rows = [""] * rows
        self.cursor = Caret(rows - 1, 0)
        self.cursor_move = ""
        """The sequence that moves the cursor to its assumed position if that is not certain."""
        self.cursor_is_shown = False
        self.is_covered = False
        """Whether an overlay covers rows."""
        self.is_trusted = False
        """Whether the terminal is known to be unchanged, from the first row on."""


def found_at(top: int, *, height: int) -> Window:
    """Create a window that starts at row ``top`` of the screen. The cursor may be anywhere."""
    window = Window(height - top)
    window.cursor = Caret(0, 0)
    window.cursor_move = f"\x1b[{height}A" + (f"\x1b[{top}B" if top else "")
    return window


def disturbed(window: Window, *, before: int, height: int) -> Window:
    """Return a full-screen window after misplaced frames were written over it.

    The position of the cursor is unknown. Rows at the top that may have returned from history are
    left alone: as many as the screen has grown, and as many as were below the cursor, which a
    screen that shrinks and grows again drops at its end.
    """
    untouched = len(window.rows) - 1 - window.cursor.row + max(0, height - before)
    return found_at(min(untouched, height - 1), height=height)


ASK_SIZE = "\x1b[18t"

_MAX_OPEN = 200
"""Maximum of pending size queries. A terminal with more unanswered ones never answers."""


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
    """Whether the position of the frame was counted from the edge of the screen."""


class Checkpoints:
    """Finds the last frame before a misplaced one.

    A multiplexer changes its grid first and reports the new size later. A frame written in between
    was made for rows that have moved: it is misplaced, and rows that it should have put into
    history may be missing. Every frame is therefore followed by a size query (``ASK_SIZE``): the
    reply has the size of the grid that received the frame. Terminals that do not reply are trusted.
    """

    def __init__(self) -> None:
        self._open: deque[Checkpoint] = deque(maxlen=_MAX_OPEN)
        self._good: Checkpoint | None = None
        self._is_misplaced = False
        self._is_answered = False
        """Whether the terminal has ever answered with its known size."""

    def record(self, checkpoint: Checkpoint) -> None:
        """Record a frame that was written with a size query."""
        self._open.append(checkpoint)

    def acknowledge(self, *, fits: bool, is_higher: bool = False) -> None:
        """Handle the reply to the oldest query: whether the frame fits the terminal's size.

        A screen that is only higher fits too, unless the frame was placed relative to its edge.
        """
        if not self._open:
            return
        checkpoint = self._open.popleft()
        if not (fits or (is_higher and not checkpoint.is_placed)):
            self._is_misplaced = True
        elif not self._is_misplaced:
            self._good, self._is_answered = checkpoint, True

    def cut(self, rows: int) -> None:
        """Drop checkpoints beyond a row, because history was discarded from there on."""
        self._open = deque((_cut(checkpoint, rows) for checkpoint in self._open), _MAX_OPEN)
        self._good = self._good and _cut(self._good, rows)

    def last_good(self) -> Checkpoint | None:
        """Return the frame to go back to.

        ``None`` if no frame can be misplaced, or if the terminal never replied.
        """
        may_be_misplaced = self._is_misplaced or bool(self._open)
        return self._good if self._is_answered and may_be_misplaced else None

    def begin(self, checkpoint: Checkpoint | None = None) -> None:
        """Drop all frames; ``checkpoint`` is what the terminal shows now, if known."""
        self._open.clear()
        self._good, self._is_misplaced = checkpoint, False


def _cut(checkpoint: Checkpoint, rows: int) -> Checkpoint:
    ledger = checkpoint.ledger
    committed = min(ledger.committed, rows)
    return replace(checkpoint, ledger=Ledger(committed=committed, top=ledger.top))


SAMPLED_ROWS = 8
"""Non-blank rows that are compared, from the end of history upwards."""
REACH = 24
"""How far upwards these rows are searched."""


def first_shifted_row(
    history: Sequence[str], before: Sequence[str], frame: Sequence[str], *, settled: int
) -> int | None:
    """Return the row at which history must continue; None if it still matches ``frame``.

    A row in the scrollback cannot be changed. If a component changes it nevertheless, there are two
    cases. If the row was edited or restyled in place, the outdated copy in history stays. If rows
    were inserted or removed, everything below has moved, and a row would be skipped or shown twice:
    history then continues from the first row that differs. Rows may be duplicated, but never lost.

    ``before`` is the frame that was painted last. Its rows from ``settled`` on were not final. If a
    resize has moved some of them into history, every change of them counts.
    """
    restarts = (_shifted(history, before, frame), _changed(history, frame, settled))
    return min((row for row in restarts if row is not None), default=None)


def _changed(history: Sequence[str], frame: Sequence[str], settled: int) -> int | None:
    """Return the first row at or after ``settled`` that was written and has changed."""
    rows = range(settled, min(len(history), len(frame)))
    return next((row for row in rows if _text(history[row]) != _text(frame[row])), None)


def _shifted(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> int | None:
    """Return the first row that differs, if rows were inserted or removed."""
    if len(frame) <= len(history):
        start = first_difference(history[: len(frame)], frame)
        return start if start < len(frame) else None
    if _is_aligned(history, before, frame):
        return None
    return first_difference(history, frame)


def _is_aligned(history: Sequence[str], before: Sequence[str], frame: Sequence[str]) -> bool:
    """Return whether the last rows of history are unmoved, except for one edited in place."""
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
    """Return whether a changed row was moved rather than edited.

    Rows inserted or removed at the very end of history affect only one row of it.
    """
    below = slice(row + 1, row + 1 + REACH)
    old, new = _text(history[row]), _text(frame[row])
    return old in map(_text, frame[below]) or new in map(_text, before[below])


def first_difference(history: Sequence[str], frame: Sequence[str]) -> int:
    """Return the first row whose text differs, or the length of the shorter one."""
    for index, (old, new) in enumerate(zip(history, frame, strict=False)):
        if old is not new and _text(old) != _text(new):
            return index
    return min(len(history), len(frame))


def _text(row: str) -> str:
    """Return the visible text of a row, so that a change of style does not count."""
    return strip_sequences(row).rstrip()
