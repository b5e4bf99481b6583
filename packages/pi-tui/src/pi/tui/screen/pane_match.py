"""A tmux pane after a resize: when to read it, and where our rows are in its contents.

After a resize, only the contents of the pane show which rows it has moved into its history, and
where it put a frame that arrived during the change. If they can be read, they are authoritative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeAlias

from pi.base.records import Record
from pi.tui.screen.history import Ledger
from pi.tui.screen.reflow import TextPosition, UnwrappedText, tail
from pi.tui.terminal import Size, Timer, Timers

_CONTEXTS = (600, 60, 20)
"""Letters that identify a position: as many as available, otherwise fewer."""
_STEPS_BACK = (0, 4, 10, 25, 60)
"""Rows before the end of history to search for. The last ones may be outdated."""
_MAX_SCREEN_ROWS = 60
"""Screen rows that misplaced frames may have hit, unless the screen is higher now."""


class PaneText(Record):
    """The contents of a pane: the last rows of its history, then the rows of its screen."""

    rows: Sequence[str]
    width: int
    height: int

    @property
    def above(self) -> int:
        """The number of history rows."""
        return len(self.rows) - self.height


class HistoryMatch(Record, kw_only=False):
    """The end of history."""

    position: TextPosition
    """Its position in our rows."""
    top: int
    """Rows of the screen that belong to history and stay unchanged."""


def find_end_of_history(
    pane: PaneText,
    rows: Sequence[str],
    ledger: Ledger,
    *,
    sure: int | None = None,
    is_copied: bool = False,
) -> HistoryMatch | None:
    """Find which of ``rows`` are in the pane's history; None if they are not found.

    ``ledger`` has the expected number. ``sure`` is the number that had arrived before misplaced
    frames, if there were any. More rows are in history if the resize has moved some; fewer if they
    never arrived or were overwritten. Rows that the pane has moved back to the screen stay there.
    ``is_copied`` means that an earlier copy of the window may be above it: the program was stopped
    and continued.
    """
    ours, theirs = UnwrappedText(rows), UnwrappedText(pane.rows)
    edge, expected = theirs.position(pane.above), ours.position(ledger.committed)
    if sure is None and ledger.top > ledger.committed:
        window = _window_row(ours, ledger.top, theirs, near=edge.letters, is_copied=is_copied)
        return None if window is None else HistoryMatch(expected, max(0, window - pane.above))
    if sure is None:
        anchor = _find_by_context(
            ours, theirs, ledger.committed, near=edge.letters, is_copied=is_copied
        )
        if anchor is None:
            return None
    else:
        highest = max(_MAX_SCREEN_ROWS, pane.height)
        anchor = _find_above_screen(ours, theirs, sure, highest=highest)
        if anchor is None:  # not even the rows above the screen were found: write everything again
            return HistoryMatch(TextPosition(ours.starts[max(0, sure - highest)]), 0)
    start, their_start = anchor
    same = _same(ours, theirs, start, shift=their_start - start)
    end = _end(ours, same, reached=edge.letters - their_start + start, expected=expected.letters)
    blanks = expected.blanks if end == expected.letters else 0
    return _match_at(pane, theirs, TextPosition(end, blanks), shift=their_start - start)


def _end(ours: UnwrappedText, same: int, *, reached: int, expected: int) -> int:
    """Return how many letters are history.

    The pane has ``same`` of them, and ``reached`` of them above its screen.
    """
    rows_end = max(ours.row_end(reached), expected)  # a row that is wrapped now stays in one piece
    if same >= rows_end:
        return rows_end
    if same >= reached:
        return max(reached, min(same, expected))
    return ours.row_start(same)  # the rest is different and may only begin alike


def _match_at(
    pane: PaneText, theirs: UnwrappedText, end: TextPosition, *, shift: int
) -> HistoryMatch:
    """Return the match for ``end`` in our rows, which is ``shift`` letters further in the pane."""
    edge = theirs.position(pane.above)
    there = end.letters + shift
    if there < edge.letters:  # the rest of the pane's history is different
        return HistoryMatch(end, 0)
    blanks = end.blanks if there > edge.letters else max(end.blanks, edge.blanks)
    row, damaged = theirs.row(TextPosition(there, blanks))
    if damaged and row >= pane.above:
        return HistoryMatch(TextPosition(end.letters - damaged), row - pane.above)
    history_rows = max(row, pane.above)  # also rows of the screen that belong to history
    last = tail(pane.rows[history_rows - 1]) if history_rows else ""
    return HistoryMatch(TextPosition(end.letters, blanks, tail=last), max(0, row - pane.above))


def _window_row(
    ours: UnwrappedText, top: int, theirs: UnwrappedText, *, near: int, is_copied: bool
) -> int | None:
    """Find in ``theirs`` a window that does not follow history."""
    start = ours.position(top).letters
    their_start = _find_by_following_text(ours, start, theirs, near=near, is_copied=is_copied)
    if their_start is None:
        return None
    blanks = ours.first_row_with_letters(start) - top
    return theirs.first_row_with_letters(their_start) - blanks


def _find_by_context(
    ours: UnwrappedText, theirs: UnwrappedText, committed: int, *, near: int, is_copied: bool
) -> tuple[int, int] | None:
    """Find the end of history, or a position before it, by the letters around it.

    The text after the end of history has its current form. The text before it may be wrapped at an
    earlier width, and outdated rows may be in between.
    """
    start = ours.starts[committed]
    their_start = _find_by_following_text(ours, start, theirs, near=near, is_copied=is_copied)
    if their_start is not None:
        return start, their_start
    for count, back in product(_CONTEXTS, _STEPS_BACK):
        start = ours.starts[max(0, committed - back)]
        their_start = theirs.find(ours.context(start, count)[0], "", near=near)
        if their_start is not None:
            return start, their_start
    return None


def _find_above_screen(
    ours: UnwrappedText, theirs: UnwrappedText, sure: int, *, highest: int
) -> tuple[int, int] | None:
    """Like ``_find_by_context`` for positions above the screen: takes the longest common text.

    A misplaced frame may have hit history rows that were back on the screen. Only the rows above
    them show how much of history is intact.
    """
    best: tuple[int, int] | None = None
    furthest = -1
    for row in range(max(0, sure - highest), max(0, sure - 2 * highest) - 1, -1):
        start = ours.starts[row]
        before, after = ours.context(start, _CONTEXTS[1])
        their_start = theirs.find(before, "" if before else after, near=len(theirs.text))
        if their_start is None:
            continue
        reached = _same(ours, theirs, start, shift=their_start - start)
        if reached > furthest:
            best, furthest = (start, their_start), reached
        if reached >= ours.starts[sure]:
            break
    return best


def _find_by_following_text(
    ours: UnwrappedText, start: int, theirs: UnwrappedText, *, near: int, is_copied: bool
) -> int | None:
    """Find the position in ``theirs`` that is followed by the same letters as ``start`` in ours.

    Lines can repeat. Of several positions it takes the one with the longest common text after it,
    then the one with the same text before it, then the nearest. If there is a copy of the window,
    which follows the same text as before, it takes the last one.
    """

    def similarity(position: int) -> tuple[int, int, int, int]:
        before, after = ours.context(start, _CONTEXTS[0])
        there_before, there_after = theirs.context(position, _CONTEXTS[0])
        return (
            _common(after, there_after),
            position if is_copied else 0,
            _common(before[::-1], there_before[::-1]),
            -abs(position - near),
        )

    for count in _CONTEXTS:
        if positions := theirs.positions(ours.context(start, count)[1]):
            return max(positions, key=similarity)
    return None


def _same(ours: UnwrappedText, theirs: UnwrappedText, start: int, *, shift: int) -> int:
    """Return how far both texts agree from ``start`` on; in a table the order may differ."""
    their_ends = set(theirs.starts)
    while True:
        start += _common(ours.text[start:], theirs.text[start + shift :])
        row = ours.first_row_with_letters(start)
        begin = ours.starts[row]
        for end in ours.starts[row + 1 : row + _MAX_SCREEN_ROWS]:
            if end <= start or end + shift not in their_ends:
                continue
            if ours.weight(begin, end) == theirs.weight(begin + shift, end + shift):
                start = end
                break
        else:
            return start


def _common(ours: str, theirs: str) -> int:
    """Return the length of the common prefix."""
    length = min(len(ours), len(theirs))
    if ours[:length] == theirs[:length]:
        return length
    return next(index for index in range(length) if ours[index] != theirs[index])


class Debounce:
    """Calls ``act`` when nothing has happened for a while, e.g. after the steps of a resize."""

    def __init__(self, timers: Timers, act: Callable[[], None], *, seconds: float) -> None:
        self._timers = timers
        self._act = act
        self._seconds = seconds
        self._pending: Timer | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a call is scheduled."""
        return self._pending is not None

    def restart(self) -> None:
        """Start to wait again."""
        self.stop()
        self._pending = self._timers.call_later(self._seconds, self._fire)

    def stop(self) -> None:
        """Cancel the call."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        self._act()


PANE_READ_SECONDS = 2.5
"""Timeout for reading a tmux pane."""
MAX_PANE_READS = 5
"""Attempts to read a pane of the reported size. After that, its contents are ignored."""

ReadPane: TypeAlias = Callable[[Callable[[PaneText | None], None]], Callable[[], object]]
"""Reads the pane and calls back with its text, or None. Returns a function that cancels."""


class PaneReader(Record):
    """Functions to read a pane after a resize."""

    size: Callable[[], Size]
    """Returns the size that the terminal reported last."""
    when_processed: Callable[[Callable[[], None]], None]
    """Calls back when the pane has processed everything that was written."""
    read: ReadPane


class ResizeTracker:
    """Waits until the size is stable, then reads the pane, if possible.

    ``act`` receives the contents of the pane. Another resize restarts the wait.
    """

    def __init__(
        self,
        timers: Timers,
        act: Callable[[PaneText | None], None],
        *,
        seconds: float,
        pane_reader: PaneReader | None = None,
    ) -> None:
        self._timers = timers
        self._act = act
        self._pane_reader = pane_reader
        self._settle = Debounce(timers, self._settled, seconds=seconds)
        self._overdue: Timer | None = None
        self._cancel_read: Callable[[], object] | None = None
        self._reads = 0

    @property
    def is_pending(self) -> bool:
        """Whether painting must wait."""
        return self._settle.is_pending or self._overdue is not None

    def restart(self) -> None:
        """Start to wait again after a change of the size."""
        self.stop()
        self._settle.restart()

    def stop(self) -> None:
        """Cancel the wait."""
        self._settle.stop()
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        if self._cancel_read is not None:
            self._cancel_read()
            self._cancel_read = None

    def _settled(self) -> None:
        if self._pane_reader is None:
            self._act(None)
            return
        overdue = self._timers.call_later(PANE_READ_SECONDS, lambda: self._received(None))
        self._overdue = overdue
        self._pane_reader.when_processed(lambda: self._read(overdue))

    def _read(self, deadline: Timer) -> None:
        if self._pane_reader is not None and self._overdue is deadline:
            self._cancel_read = self._pane_reader.read(self._received)

    def _received(self, pane: PaneText | None) -> None:
        if self._pane_reader is None or self._overdue is None:
            return
        self._reads += 1
        size = self._pane_reader.size()
        is_current = pane is None or (pane.width, pane.height) == (size.columns, size.rows)
        if not is_current and self._reads < MAX_PANE_READS:
            self.restart()  # its size will be reported soon; a frame painted now would be misplaced
            return
        self.stop()
        self._reads = 0
        self._act(pane if is_current else None)
