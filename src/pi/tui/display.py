"""The display on the main screen: rows that scroll, below the shell's prompt.

``pi.tui.fullscreen`` has the display for the alternate screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol, TypeAlias

from pi.base.records import Record
from pi.tui.component import Component
from pi.tui.containers import Container
from pi.tui.input.reports import MouseReport
from pi.tui.overlays import OverlayHandle
from pi.tui.screen.history import Ledger
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import Layer
from pi.tui.screen.screen import Frame, Page, Repaint, Screen
from pi.tui.terminal import Size


class NewPage(Record):
    """What is written when history cannot be rewritten and the text continues anew."""

    heading: Callable[[int], Sequence[str]]
    """Returns the rows above the new page at a width."""
    is_other_text: bool = False
    """Whether the text is another one; the visible rows then become history first."""
    is_forced: bool = False
    """Whether it begins even if the text continues the one above, as for another session."""


Leave: TypeAlias = Literal["for good", "stopped", "lent"]
"""How the terminal is released: at exit, while the process is stopped, or to another program."""


class Tree(Protocol):
    """The top-level components."""

    def add_child(self, child: Component) -> None:
        """Adds a component at the bottom."""
        ...

    def remove_child(self, child: Component) -> None:
        """Removes a component."""
        ...

    def clear(self) -> None:
        """Removes all components."""
        ...

    def invalidate(self) -> None:
        """Invalidates all components."""
        ...

    def render(self, width: int) -> list[str]:
        """Returns the rows of all components."""
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
        """Returns what is written before the first frame."""
        ...

    def closing(self, leave: Leave = "for good") -> str:
        """Returns what is written after the last frame to release the terminal."""
        ...

    def draw(self, changed: Collection[Component] | None) -> None:
        """Draws the components. If ``changed`` is given, only those are drawn again."""
        ...

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Returns the bytes for what was drawn last. This is fast compared to drawing."""
        ...

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Changes the size. Returns how much must be painted.

        ``pane`` is what the tmux pane contains now, if it could be read.
        """
        ...

    def acknowledge_frame(self, size: Size) -> None:
        """Records the size that the terminal had when it took a frame. Only sent on request."""
        ...

    def resume(self, size: Size) -> Repaint:
        """Continues at the cursor after other programs wrote. Returns how much to paint."""
        ...

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Returns how much to paint when the user requests a fresh screen.

        ``page`` describes what follows in a terminal whose history cannot be rewritten.
        """
        ...

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Delivers a mouse event. Returns the component that requests the focus."""
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
        """What a fresh screen begins with, until it is painted."""

    @property
    def ledger(self) -> Ledger:
        """The number of rows in history and the start of the window."""
        return self._screen.ledger

    def opening(self) -> str:
        """Returns nothing: the first frame begins at the cursor."""
        return ""

    def closing(self, leave: Leave = "for good") -> str:
        """Returns what moves the cursor below the last row.

        A pane that is lent is cleared. Its history cannot be rewritten, so the window would appear
        in it twice.
        """
        return self._screen.leave(erased=leave == "lent" and self._in_pane)

    def draw(self, changed: Collection[Component] | None) -> None:
        """Builds a frame from the components' rows."""
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
        """Returns the bytes of that frame."""
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
        """Records the size. A frame taken at another size is written again at the next resize."""
        self._screen.acknowledge_frame(size.columns, size.rows)

    def resume(self, size: Size) -> Repaint:
        """Keeps history, and paints the window below what other programs have written."""
        return self._resize_in_place(size)

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Like a resize to the same size. A pane receives only what its history lacks."""
        self._page = page or self._page or NewPage(heading=lambda width: ())
        return Repaint.WINDOW if self._in_pane else Repaint.EVERYTHING

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Does nothing: on the main screen the terminal handles the mouse."""
        return None

    def _resize_in_place(self, size: Size, pane: PaneText | None = None) -> Repaint:
        before = self._screen.frame_width
        grown = self.root.render(before) if size.columns != before else None
        self._screen.resize_in_place(size.columns, size.rows, grown=grown, pane=pane)
        self._width, self._height = size.columns, size.rows
        return Repaint.WINDOW

    def _end_without_transient_rows(self, length: int) -> int:
        """Returns the end of the rows that would be above the window without transient rows.

        Only these may become history, because rows hidden by a dialog reappear when it closes.
        """
        passing = self.root.transient_rows
        if not passing:
            return length
        return max(self.ledger.committed, length - passing - self._height)
