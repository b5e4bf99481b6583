"""The screen: converts frames to bytes and tracks what the terminal shows.

Its output is correct for all terminals and for any scroll position of the user.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum

from pi.base.records import Record
from pi.tui.screen import emitters
from pi.tui.screen.emitters import BEGIN_SYNC, END_SYNC, HIDE_CURSOR, SHOW_CURSOR, RowWriter
from pi.tui.screen.history import (
    ASK_SIZE,
    Checkpoint,
    Checkpoints,
    Ledger,
    Window,
    advance,
    disturbed,
    first_difference,
    first_shifted_row,
    found_at,
)
from pi.tui.screen.pane_match import PaneText, find_end_of_history
from pi.tui.screen.reflow import NEAR, TextPosition, UnwrappedText, find_boundary, reflow
from pi.tui.screen.rows import (
    WRAP_OFF,
    WRAP_ON,
    Caret,
    Layer,
    RowPrinter,
    composite,
    find_caret,
    window_rows,
    without_markers,
)
from pi.tui.text.ansi import strip_sequences

log = logging.getLogger(__name__)


class Frame(Record, kw_only=False):
    """All rows of the components, from the first one."""

    rows: Sequence[str]
    boundary: int
    """Rows from here on may still change; ``len(rows)`` if none may."""
    staying: int | None = None
    """Rows from here on never become history; None if all may."""

    def history(self, rows: int) -> int:
        """Return how many of the first ``rows`` can be history."""
        return rows if self.staying is None else min(rows, self.staying)


class Page(Record):
    """A part of history that begins anew, because rows above it cannot be rewritten.

    It begins with a block, so that no block is continued in another form, and ``heading`` is
    written above it.
    """

    heading: Sequence[str]
    starts: Sequence[int] = ()
    """The first rows of the frame's blocks."""
    keeps_window: bool = False
    """Whether the rows in the window become history: the frame has another text."""
    is_forced: bool = False
    """Whether a page begins even if the frame continues history."""


class Repaint(Enum):
    """How much of the terminal to write again."""

    CHANGES = "changes"
    WINDOW = "window"
    """All rows of the window, e.g. after another program wrote there."""
    EVERYTHING = "everything"
    """History is also erased and written again. Only on the user's request."""


class _Paint(Record, kw_only=False):
    """One frame that is being written."""

    ledger: Ledger
    carried: Sequence[str]
    """Text to write after history, in place of rows that count as history."""
    chunk: list[str]
    """Rows that become history now."""
    window: list[str]
    caret: Caret | None


class _Unplaced(Record, kw_only=False):
    """The end of history at an earlier width."""

    rows: Sequence[str]
    """Rows of that width, before and after the end."""
    position: TextPosition
    is_whole: bool
    """Whether these are all rows."""


class Screen:
    """The window on the terminal and the history above it.

    ``synchronized`` brackets every write so that the terminal shows it atomically. ``show_cursor``
    makes the terminal's cursor visible at the focused component. The window begins at the cursor
    when the first frame is painted. ``in_pane`` writes rows so that a multiplexer wraps exactly
    their visible part, and queries the size at which it took each frame.
    """

    def __init__(
        self, width: int, height: int, *, strict: bool = False, in_pane: bool = False
    ) -> None:
        self.synchronized = False
        self.show_cursor = False
        self.ledger = Ledger()
        self._strict = strict
        self._in_pane = in_pane
        self._set_size(width, height)
        self.frame_width = self._width
        """The width of the last frame, whose rows the ledger counts."""
        self._history: list[str] = []
        self._settled = 0
        """Rows of history that are final. A resize in a pane moves other rows there, too."""
        self._frame = Frame((), 0)
        self._window = Window()
        self._checkpoints = Checkpoints()
        self._unplaced: _Unplaced | None = None
        self._is_copied = False
        """Whether the window was left where it is and painted again below it."""
        self._joined_rows = 0
        """Empty rows below the window that a pane joins when its width changes."""

    def paint(
        self,
        frame: Frame,
        layers: Sequence[Layer] = (),
        *,
        repaint: Repaint = Repaint.CHANGES,
        page: Page | None = None,
    ) -> str:
        """Return the bytes that show ``frame`` below ``layers``; empty if nothing changed.

        ``page`` is begun if ``frame`` does not continue history.
        """
        carried: Sequence[str] = ()
        if repaint is Repaint.EVERYTHING:
            self._history, self.ledger, self._is_copied = [], Ledger(), False
        elif self._unplaced is not None:
            carried = self._place_history(frame, self._unplaced)
        elif page is None:
            self._audit(frame)
        if page is not None and repaint is not Repaint.EVERYTHING:
            carried = [*carried, *self._begin_page(frame, page)]
        is_new = repaint is Repaint.EVERYTHING
        paint = self._prepared(frame, layers, carried, frozen=bool(layers) and not is_new)
        is_placed, writer = bool(self._window.cursor_move), self._writer()
        self._emit(writer, paint, repaint)
        above = sum(map(self._printer.lines, paint.carried)) + len(paint.chunk)
        # Only if no row may change: later rows fill the empty ones, and may arrive in a resize.
        if is_placed and self._in_pane and frame.boundary == frame.staying:
            self._join_empty_rows(writer, above + len(paint.window))
        writer.row -= above
        self._place_cursor(writer, paint)
        self._record_painted(frame, paint, is_covered=bool(layers))
        text = self._bracketed(writer.text())
        if not (text and self._in_pane):
            return text
        self._checkpoints.record(self._checkpoint(is_placed=is_placed))
        return text + ASK_SIZE

    def acknowledge_frame(self, width: int, height: int) -> None:
        """Record the size that the terminal had when it took the oldest unacknowledged frame."""
        # tmux before 3.4 reports the width as the height.
        sizes = ((width, height), (height, width))
        fits = (self._width, self._height) in sizes
        is_higher = any(w == self._width and h > self._height for w, h in sizes)
        self._checkpoints.acknowledge(fits=fits, is_higher=is_higher)

    def resize(self, width: int, height: int) -> None:
        """Change the size; the next paint must write everything."""
        self._set_size(width, height)

    def resize_in_place(
        self,
        width: int,
        height: int,
        *,
        grown: Sequence[str] | None = None,
        pane: PaneText | None = None,
    ) -> None:
        """Change the size where history cannot be rewritten; the next paint finds its position.

        Rows that the resize has moved into history count as history. ``grown`` is the current frame
        at ``frame_width``, which may have more rows than were painted. ``pane`` is the contents of
        the pane; without it the position is estimated.
        """
        was_shown = self._window.cursor_is_shown
        rows = self._frame.rows if grown is None else grown
        if not (
            pane and self._locate_history(pane, rows, height=height, same=width == self.frame_width)
        ):
            self._estimate_window(width, height)
            if width != self.frame_width:
                first = max(self.ledger.committed - NEAR, 0)
                position = UnwrappedText(rows[first:]).position(self.ledger.committed - first)
                self._unplaced = _Unplaced(rows[first:], position, not first)
        self._set_size(width, height)
        self._window.cursor_is_shown = was_shown
        self._checkpoints.begin(self._checkpoint())

    def _locate_history(
        self, pane: PaneText, rows: Sequence[str], *, height: int, same: bool
    ) -> bool:
        """Locate the end of history in the pane. Returns whether our rows were found."""
        good, ledger = self._checkpoints.last_good(), self.ledger
        sure = ledger.committed if good is None else min(ledger.committed, good.ledger.committed)
        first = max(sure - NEAR, 0)
        near = rows[first:]
        there = Ledger(committed=ledger.committed - first, top=ledger.top - first)
        match = find_end_of_history(
            pane,
            near,
            there,
            sure=None if good is None else sure - first,
            is_copied=self._is_copied,
        )
        if match is None:
            return False
        if same:
            row, _ = UnwrappedText(near).row(match.position)
            self._count_as_history(first + row)
        else:
            self._unplaced = _Unplaced(near, match.position, not first)
        self._window = found_at(min(match.top, height - 1), height=height)
        return True

    def _estimate_window(self, width: int, height: int) -> None:
        """Estimate the position of the window from the known behaviour of panes.

        If frames were written for an outdated size, they have disturbed the rows of the last good
        frame. These rows are written again and may be duplicated.
        """
        good = self._checkpoints.last_good()
        if good is not None:
            self._go_back(good)
        window = self._window
        # Once there is history, the window begins at the top of the screen.
        below = self._height - len(window.rows) if self._history else 0
        if self._joined_rows:
            below = -(-2 * self._joined_rows // width)
        after = reflow(window.rows, window.cursor, below=below, width=width, height=height)
        rest = after.rest
        # If a row has left the screen only in part, its other part may be disturbed.
        pushed = after.pushed - (1 if good is not None and rest else 0)
        if self._count_pushed(pushed) == after.pushed:
            rest = 0  # it stays and follows the beginning of its row
        if good is not None and len(window.rows) == self._height:
            self._window = disturbed(window, before=self._height, height=height)
        else:
            # A row that wraps into more lines than the screen has is visible only in part.
            self._window = Window(min(rest + after.cursor_row + 1, height))

    def leave(self, *, erased: bool = False) -> str:
        """Return the bytes that move the cursor below the window to release the terminal.

        With ``erased`` the cursor moves to the start of the window, which will be painted there
        again.
        """
        writer = self._writer()
        self._separate_empty_rows(writer)
        if erased:
            writer.erase_from(0)
            writer.move(0)
        else:
            self._is_copied = True
            writer.move(len(self._window.rows) - 1)
            if self._window.rows != [""]:
                writer.put("\r\n")
        self._window = Window()
        self._checkpoints.begin()  # other programs write now, and replies may be lost
        return writer.text()

    def _writer(self) -> RowWriter:
        writer = RowWriter(self._printer, self._window.rows, self._window.cursor.row)
        if self._window.cursor_move:
            writer.put(self._window.cursor_move)
        return writer

    def _set_size(self, width: int, height: int) -> None:
        self._width, self._height = max(width, 1), max(height, 1)
        self._printer = RowPrinter(self._width, strict=self._strict, erases_first=self._in_pane)

    def _audit(self, frame: Frame) -> None:
        restart = first_shifted_row(
            self._history, self._frame.rows, frame.rows, settled=self._settled
        )
        if restart is not None:
            log.info("rows from %d of %d in history changed", restart, len(self._history))
            self._cut_history(restart)
            self.ledger = Ledger(committed=restart, top=self.ledger.top)

    def _begin_page(self, frame: Frame, page: Page) -> Sequence[str]:
        """Begin a page, unless the frame continues history and the page is not forced.

        Returns the text to write first; empty if no page begins.
        """
        rows, same = frame.rows, first_difference(self._history, frame.rows)
        is_continued = same == len(self._history) < len(rows)
        if is_continued and not page.is_forced:
            return ()
        visible_rows = (
            [without_markers(row) for row in self._visible_text()] if page.keeps_window else []
        )
        if not self._history and not any(map(strip_sequences, visible_rows)):
            return ()
        # The window is full, or the page begins with the first row.
        latest = min(same, len(rows) - self._height)
        start = max((row for row in page.starts if row <= latest), default=0)
        self._cut_history(min(same, start))
        self._history += map(without_markers, rows[len(self._history) : start])
        self._settled = 0
        self.ledger = Ledger(committed=start, top=start)
        self._checkpoints.begin()
        return [*visible_rows, *page.heading]

    def _visible_text(self) -> Sequence[str]:
        """Return the rows of the last frame that are not history yet and do not stay."""
        end = self._frame.history(len(self._frame.rows))
        rows = list(self._frame.rows[self.ledger.committed : end])
        while rows and not strip_sequences(rows[-1]).strip():
            rows.pop()
        return rows

    def _place_history(self, frame: Frame, unplaced: _Unplaced) -> Sequence[str]:
        """Find the part of a frame of another width that was history at the old width.

        Returns the text to write after history first.
        """
        seam = find_boundary(
            unplaced.rows,
            unplaced.position,
            frame.rows,
            width=self._width,
            is_whole=unplaced.is_whole,
        )
        end = frame.history(seam.row)
        self._history = [without_markers(row) for row in frame.rows[:end]]
        self._settled = 0
        self.ledger = Ledger(committed=end, top=end)
        self._frame = frame
        self._checkpoints.begin(self._checkpoint())
        return [without_markers(row) for row in seam.carried] if end == seam.row else []

    def _count_as_history(self, rows: int) -> None:
        """Count the first rows of the last frame as history, except those that stay."""
        rows = self._frame.history(rows)
        del self._history[rows:]
        self._history += map(without_markers, self._frame.rows[len(self._history) : rows])
        self.ledger = Ledger(committed=rows, top=rows)

    def _cut_history(self, rows: int) -> None:
        if rows < len(self._history):
            del self._history[rows:]
            self._checkpoints.cut(rows)

    def _count_pushed(self, pushed: int) -> int:
        """Count rows that left the screen at the top as history. Returns how many could be."""
        ledger = self.ledger
        if not pushed or self._window.is_covered or ledger.top != ledger.committed:
            return 0
        self._count_as_history(ledger.top + pushed)
        return self.ledger.top - ledger.top

    def _checkpoint(self, *, is_placed: bool = False) -> Checkpoint:
        return Checkpoint(
            ledger=self.ledger,
            rows=self._frame.rows,
            boundary=self._frame.boundary,
            staying=self._frame.staying,
            window=self._window.rows,
            cursor=self._window.cursor,
            is_covered=self._window.is_covered,
            is_placed=is_placed,
        )

    def _go_back(self, checkpoint: Checkpoint) -> None:
        """Discard what was painted after a checkpoint."""
        log.info("frames were taken at another size; back to %s", checkpoint.ledger)
        self.ledger = checkpoint.ledger
        self._frame = Frame(checkpoint.rows, checkpoint.boundary, checkpoint.staying)
        del self._history[self.ledger.committed :]
        self._window.rows, self._window.cursor = list(checkpoint.window), checkpoint.cursor
        self._window.is_covered = checkpoint.is_covered

    def _prepared(
        self, frame: Frame, layers: Sequence[Layer], carried: Sequence[str], *, frozen: bool
    ) -> _Paint:
        rows, height = frame.rows, self._height
        before = self.ledger.committed
        after = advance(
            self.ledger, length=len(rows), height=height, boundary=frame.boundary, frozen=frozen
        )
        window = list(rows[after.top : after.top + height]) or [""]
        if layers:
            window = composite(window, layers, width=self._width)[:height]
        return _Paint(
            ledger=after,
            carried=carried,
            chunk=[without_markers(row) for row in rows[before : after.committed]],
            window=window_rows(window),
            caret=find_caret(window),
        )

    def _emit(self, writer: RowWriter, paint: _Paint, repaint: Repaint) -> None:
        rows = [*paint.carried, *paint.chunk, *paint.window]
        if len(rows) > len(self._window.rows):
            self._separate_empty_rows(writer)
        leaves_at_the_top = (
            self.ledger.committed == self.ledger.top and paint.ledger.committed == paint.ledger.top
        )
        is_certain = self._window.is_trusted and repaint is Repaint.CHANGES
        if repaint is Repaint.EVERYTHING:
            intent = "full paint"
            emitters.full_paint(writer, rows)
        elif is_certain and not paint.chunk:
            intent = "window diff"
            emitters.window_diff(writer, rows)
        elif is_certain and leaves_at_the_top:
            intent = "scroll append"
            emitters.scroll_append(writer, rows, leaving=len(paint.chunk), in_pane=self._in_pane)
        else:
            intent = "seam rewrite"
            unbroken = len(rows) - len(paint.window) if self._in_pane else 0
            emitters.boundary_rewrite(writer, rows, unbroken=unbroken)
        log.debug(
            "%s (repaint %s): committed %d (%d new), top %d, window %d of %d rows at %d columns",
            intent,
            repaint.value,
            paint.ledger.committed,
            len(paint.chunk),
            paint.ledger.top,
            len(paint.window),
            self._height,
            self._width,
        )

    def _join_empty_rows(self, writer: RowWriter, first: int) -> None:
        """Let the pane take the rows below the window when it gets narrower again."""
        self._joined_rows = max(0, len(writer.painted) - first)
        if self._joined_rows:
            emitters.join_empty_rows(writer, first)

    def _separate_empty_rows(self, writer: RowWriter) -> None:
        if self._joined_rows:
            emitters.separate_empty_rows(writer)
            self._joined_rows = 0

    def _place_cursor(self, writer: RowWriter, paint: _Paint) -> None:
        """Move the cursor to the focused component, or to the end of the content.

        Not further down: a terminal that loses height drops rows below the cursor first.
        """
        caret = paint.caret or Caret(len(paint.window) - 1, 0)
        caret = Caret(caret.row, min(caret.column, self._width - 1))
        window = self._window
        if caret != window.cursor or not writer.is_empty:
            writer.move(*caret)
        window.cursor = caret
        is_shown = self.show_cursor and paint.caret is not None
        if is_shown is not window.cursor_is_shown:
            writer.put(SHOW_CURSOR if is_shown else HIDE_CURSOR)
            window.cursor_is_shown = is_shown

    def _record_painted(self, frame: Frame, paint: _Paint, *, is_covered: bool) -> None:
        """Record what the terminal shows now."""
        self._cut_history(paint.ledger.committed)
        self._history += paint.chunk
        final = min(frame.boundary, len(self._history))
        self._settled = max(final, min(self._settled, len(self._history)))
        self._frame, self.ledger, self._unplaced = frame, paint.ledger, None
        self.frame_width = self._width
        self._window.rows, self._window.cursor_move = paint.window, ""
        self._window.is_covered, self._window.is_trusted = is_covered, True

    def _bracketed(self, text: str) -> str:
        if not text:
            return ""
        text = f"{WRAP_OFF}{text}{WRAP_ON}"
        return f"{BEGIN_SYNC}{text}{END_SYNC}" if self.synchronized else text
