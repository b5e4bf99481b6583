"""The displays on the main screen: rows that scroll, below the shell's prompt, or plain lines.

``pi.tui.fullscreen`` has the display for the alternate screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import Literal, Protocol, TypeAlias

from pi.base.records import Record
from pi.tui.component import CURSOR_MARKER, Component
from pi.tui.containers import Container
from pi.tui.input.reports import MouseReport
from pi.tui.overlays import OverlayHandle
from pi.tui.screen.emitters import SHOW_CURSOR
from pi.tui.screen.history import Ledger
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import Layer
from pi.tui.screen.screen import Frame, Page, Repaint, Screen
from pi.tui.terminal import Size
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width


class NewPage(Record):
    """A new page of text, for a terminal whose history cannot be rewritten."""

    heading: Callable[[int], Sequence[str]]
    """Returns the rows above the new page at a width."""
    is_other_text: bool = False
    """Whether a different text follows; the visible rows then become history first."""
    is_forced: bool = False
    """Whether the page begins even if its text continues the text above; for another session."""


Leave: TypeAlias = Literal["for good", "stopped", "lent"]
"""How the terminal is released: at exit, while the process is stopped, or to another program."""


class Tree(Protocol):
    """The top-level components."""

    def add_child(self, child: Component) -> None:
        """Add a component at the bottom."""
        ...

    def remove_child(self, child: Component) -> None:
        """Remove a component."""
        ...

    def clear(self) -> None:
        """Remove all components."""
        ...

    def invalidate(self) -> None:
        """Invalidate all components."""
        ...

    def render(self, width: int) -> list[str]:
        """Return the rows of all components."""
        ...


class Display(Protocol):
    """Draws a tree of components and tracks what the terminal shows."""

    synchronized: bool
    """Whether writes are bracketed, so that the terminal shows each one atomically."""
    show_cursor: bool
    """Whether the terminal's own cursor is visible."""

    @property
    def root(self) -> Tree:
        """The components."""
        ...

    def opening(self) -> str:
        """Return the sequences to write before the first frame."""
        ...

    def closing(self, leave: Leave = "for good") -> str:
        """Return the sequences to write after the last frame, to release the terminal."""
        ...

    def draw(self, changed: Collection[Component] | None) -> None:
        """Draw the components. If ``changed`` is given, only those are drawn again."""
        ...

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Return the bytes for what was drawn last. This is fast compared to drawing."""
        ...

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Change the size. Returns how much must be painted.

        ``pane`` is what the tmux pane contains now, if it could be read.
        """
        ...

    def acknowledge_frame(self, size: Size) -> None:
        """Record the size that the terminal had when it took a frame. Only sent on request."""
        ...

    def resume(self, size: Size) -> Repaint:
        """Continue at the cursor after other programs wrote. Returns how much to paint."""
        ...

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Return how much to paint when the user requests a fresh screen.

        ``page`` describes what follows in a terminal whose history cannot be rewritten.
        """
        ...

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Deliver a mouse event. Returns the component that requests the focus."""
        ...


class RegularDisplay:
    """The main screen. Rows that scroll out of the window become the terminal's history.

    ``in_pane`` means that a multiplexer keeps the history, which therefore cannot be rewritten.
    """

    def __init__(self, size: Size, *, in_pane: bool, strict: bool = False) -> None:
        self.root = Container()
        self.synchronized = False
        self.show_cursor = False
        self._screen = Screen(size.columns, size.rows, strict=strict, in_pane=in_pane)
        self._width, self._height = size.columns, size.rows
        self._in_pane = in_pane
        self._frame = Frame((), 0)
        self._page: NewPage | None = None
        """The page that the next paint begins; ``None`` if it continues the text."""

    @property
    def ledger(self) -> Ledger:
        """The number of rows in history and the start of the window."""
        return self._screen.ledger

    def opening(self) -> str:
        """Return nothing: the first frame begins at the cursor."""
        return ""

    def closing(self, leave: Leave = "for good") -> str:
        """Return the sequences that move the cursor below the last row.

        A pane that is lent to another program is cleared: its history cannot be rewritten, so the
        window would appear in it twice.
        """
        return self._screen.leave(erased=leave == "lent" and self._in_pane)

    def draw(self, changed: Collection[Component] | None) -> None:
        """Build a frame from the components' rows."""
        rows = (
            self.root.render(self._width)
            if changed is None
            else self.root.render_parts(self._width, changed)
        )
        boundary = self.root.first_changing_row
        boundary = len(rows) if boundary is None else boundary
        staying = self.root.staying_start
        if staying is not None:
            boundary = min(boundary, staying)
        self._frame = Frame(
            rows, min(boundary, self._end_without_transient_rows(len(rows))), staying
        )

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Return the bytes of the frame that was drawn last."""
        self._screen.synchronized = self.synchronized
        self._screen.show_cursor = self.show_cursor
        page, self._page = self._page, None
        begun = None
        if page is not None:
            begun = Page(
                heading=page.heading(self._width),
                starts=self.root.block_starts,
                keeps_window=page.is_other_text,
                is_forced=page.is_forced,
            )
        return self._screen.paint(self._frame, layers, repaint=repaint, page=begun)

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Repaints everything at the new width; inside a pane, only the window."""
        if self._in_pane:
            return self._resize_in_place(size, pane)
        self._width, self._height = size.columns, size.rows
        self._screen.resize(size.columns, size.rows)
        return Repaint.EVERYTHING

    def acknowledge_frame(self, size: Size) -> None:
        """Record the size. A frame taken at another size is written again at the next resize."""
        self._screen.acknowledge_frame(size.columns, size.rows)

    def resume(self, size: Size) -> Repaint:
        """Keep history, and paint the window below what other programs have written."""
        return self._resize_in_place(size)

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Like a resize to the same size. A pane receives only what its history lacks."""
        self._page = page or self._page or NewPage(heading=lambda width: ())
        return Repaint.WINDOW if self._in_pane else Repaint.EVERYTHING

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Do nothing: on the main screen the terminal handles the mouse."""
        return None

    def _resize_in_place(self, size: Size, pane: PaneText | None = None) -> Repaint:
        before = self._screen.frame_width
        grown = self.root.render(before) if size.columns != before else None
        self._screen.resize_in_place(size.columns, size.rows, grown=grown, pane=pane)
        self._width, self._height = size.columns, size.rows
        return Repaint.WINDOW

    def _end_without_transient_rows(self, length: int) -> int:
        """Return the end of the rows that would be above the window without transient rows.

        Only these may become history, because rows hidden by a dialog reappear when it closes.
        """
        passing = self.root.transient_rows
        if not passing:
            return length
        return max(self.ledger.committed, length - passing - self._height)


PROMPT = "> "
NEW_LINE = "\r\n"
_FREE_COLUMNS = len(PROMPT) + 1
"""Columns that components leave free, so that no line wraps and backspaces stay in their row."""

_DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff]+")
"""Borders, bars and spinners: a screen reader would read their names."""
_ARROW = "→ "


class PlainDisplay:
    """Writes lines for screen readers: each once, and no redrawing.

    Finished rows of the conversation are appended as they become final. The rows below them
    (notices, dialogs, suggestions) are written when they change, without borders. The row with the
    cursor is the last line of the terminal: typed characters are echoed there, and it is edited
    with backspaces only.
    """

    def __init__(self, size: Size) -> None:
        self.root = Container()
        self.synchronized = False
        self.show_cursor = True
        self._width = _usable(size)
        self._rows: list[str] = []
        self._final = 0
        """How many of the rows are final."""
        self._below = 0
        """The first row that never becomes part of the conversation."""
        self._printed: list[str] = []
        """The final rows that were written."""
        self._is_resized = False
        self._last_lines: list[str] = []
        """The lines below the conversation, as of the last frame."""
        self._typed, self._caret = "", 0
        """The line that is being typed, and the cursor in it."""
        self._has_prompt = False

    def opening(self) -> str:
        """Return nothing: lines begin at the cursor."""
        return ""

    def closing(self, leave: Leave = "for good") -> str:
        """End the line."""
        had_prompt, self._has_prompt = self._has_prompt, False
        return NEW_LINE if had_prompt else ""

    def draw(self, changed: Collection[Component] | None) -> None:
        """Collect the rows."""
        self._rows = self.root.render(self._width)
        boundary = self.root.first_changing_row
        staying = self.root.staying_start
        self._below = len(self._rows) if staying is None else staying
        self._final = min(len(self._rows) if boundary is None else boundary, self._below)

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Return the new lines and the changes of the line that is being typed."""
        lines = self._conversation()
        rows = [*self._rows[self._below :], *(line for layer in layers for line in layer.lines)]
        typed = next((row for row in reversed(rows) if CURSOR_MARKER in row), None)
        others = [row for row in rows if row is not typed]
        lines += self._announced(others)
        return self._written(lines, typed)

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Only later lines have the new width."""
        if (width := _usable(size)) != self._width:
            self._width = width
            self._is_resized = True
        return Repaint.CHANGES

    def acknowledge_frame(self, size: Size) -> None:
        """Do nothing: nothing is drawn again."""

    def resume(self, size: Size) -> Repaint:
        """Continue below what other programs have written."""
        self._has_prompt = False
        return self.resize(size)

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Do nothing: a changed conversation is written from its first change on."""
        return Repaint.CHANGES

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Do nothing: the terminal handles the mouse."""
        return None

    # The conversation and the rows below it -------------------------------------------------------

    def _conversation(self) -> list[str]:
        """Return the rows that have become final since the last call, without empty ones."""
        rows = self._rows[: self._final]
        before, self._printed = self._printed, list(rows)
        if self._is_resized:  # wrapped differently, but already written
            self._is_resized = False
            return []
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, rows)))  # noqa: B905
        return [line for row in rows[same:] if (line := _plain(row))]

    def _announced(self, rows: Sequence[str]) -> list[str]:
        """Return new lines, and the line that is newly selected."""
        now = [line for row in rows if (line := _plain(row))]
        old_lines = {line.removeprefix(_ARROW) for line in self._last_lines} | {self._typed}
        selected = {line for line in self._last_lines if line.startswith(_ARROW)}
        self._last_lines = now
        return [
            f"{line.removeprefix(_ARROW)} (selected)" if line.startswith(_ARROW) else line
            for line in now
            if (line not in selected if line.startswith(_ARROW) else line not in old_lines)
        ]

    # The line that is being typed -----------------------------------------------------------------

    def _written(self, lines: Sequence[str], typed: str | None) -> str:
        out = self._above(lines) if lines else ""
        if typed is None:
            return out
        before, _, after = typed.partition(CURSOR_MARKER)
        head = strip_sequences(before)
        text = (head + strip_sequences(after)).rstrip()
        text = text.ljust(len(head))
        if not self._has_prompt:
            self._has_prompt, self._typed, self._caret = True, "", 0
            out += SHOW_CURSOR + PROMPT  # the negotiation of the terminal has hidden it
        return out + self._edited(text, len(head))

    def _above(self, lines: Sequence[str]) -> str:
        """Return lines; an empty prompt is overwritten, one with text is left as it is."""
        start = ""
        if self._has_prompt:
            start = NEW_LINE if self._typed else "\r"
            self._has_prompt = False
        padded = [lines[0].ljust(len(PROMPT)), *lines[1:]]
        return start + "".join(f"{line}{NEW_LINE}" for line in padded)

    def _edited(self, text: str, caret: int) -> str:
        """Return the output that turns the typed line into ``text``, the cursor at ``caret``."""
        old, position = self._typed, self._caret
        self._typed, self._caret = text, caret
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, text)))  # noqa: B905
        out = ""
        if old != text:
            out += _moved(old, position, same)
            gone = max(visible_width(old[same:]) - visible_width(text[same:]), 0)
            out += text[same:] + " " * gone + "\b" * gone
            position = len(text)
        return out + _moved(text, position, caret)


def _moved(text: str, start: int, end: int) -> str:
    """Return the output that moves the cursor in a line: backspaces, or the characters again."""
    return text[start:end] if end >= start else "\b" * visible_width(text[end:start])


def _usable(size: Size) -> int:
    return max(size.columns - _FREE_COLUMNS, 1)


def _plain(row: str) -> str:
    """Return the words of a row."""
    text = _DRAWN.sub(" ", strip_sequences(row.replace(CURSOR_MARKER, "")))
    return re.sub(r" {3,}", "  ", text).strip()
