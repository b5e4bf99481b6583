"""How the tree of components gets on the terminal: below the shell's prompt, as rows that scroll.

The other way, the whole screen for ourselves, is ``pi.tui.fullscreen``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol, TypeAlias

from pi.tui.component import Component
from pi.tui.containers import Container
from pi.tui.input.reports import MouseReport
from pi.tui.overlays import OverlayHandle
from pi.tui.screen.history import Ledger
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import Layer
from pi.tui.screen.screen import Frame, Repaint, Screen
from pi.tui.terminal import Size

Leave: TypeAlias = Literal["for good", "stopped", "lent"]
"""How the terminal is left: at the end, by a process that is stopped, or to another program that
has it for a while, so that nobody looks at what we have shown.
"""


class Tree(Protocol):
    """The components at the top level."""

    def add_child(self, child: Component) -> None:
        """Put a component below the others."""
        ...

    def remove_child(self, child: Component) -> None:
        """Take a component out."""
        ...

    def clear(self) -> None:
        """Take all components out."""
        ...

    def invalidate(self) -> None:
        """Make all components forget what they remember."""
        ...

    def render(self, width: int) -> list[str]:
        """The rows of all components."""
        ...


class Display(Protocol):
    """Draws a tree of components and remembers what the terminal shows."""

    synchronized: bool
    """Whether writes are bracketed, so that the terminal shows each at once."""
    show_cursor: bool
    """Whether the terminal's own cursor is seen at the caret."""

    @property
    def root(self) -> Tree:
        """The components."""
        ...

    def opening(self) -> str:
        """What is written before the first frame."""
        ...

    def closing(self, leave: Leave = "for good") -> str:
        """What is written after the last frame, so that the terminal belongs to others."""
        ...

    def draw(self, changed: Collection[Component] | None) -> None:
        """Draw the components; only ``changed`` need to be drawn again, if it is given."""
        ...

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """The bytes of what was drawn last. Unlike drawing it takes no time to speak of."""
        ...

    def resize(self, size: Size, tape: PaneText | None = None) -> Repaint:
        """Take another size; says how much must be painted for it.

        ``tape`` is what the pane in which it is shown has now, if it can say so.
        """
        ...

    def acknowledge_frame(self, size: Size) -> None:
        """The terminal says which size it had when it took a frame; only if it was asked."""
        ...

    def resume(self, size: Size) -> Repaint:
        """Begin again where the cursor is, since others have written; says how much to paint."""
        ...

    def reset(self) -> Repaint:
        """How much to paint for a person who wants a fresh screen."""
        ...

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Let the components have a mouse event; returns who wants the focus for it."""
        ...


class RegularDisplay:
    """The main screen: what scrolls out of the window becomes the terminal's history.

    ``in_pane`` says that a multiplexer keeps that history, so it can never be written again.
    """

    def __init__(self, size: Size, *, in_pane: bool, strict: bool = False) -> None:
        self.root = Container()
        self.synchronized = False
        self.show_cursor = False
        self._screen = Screen(size.columns, size.rows, strict=strict, in_pane=in_pane)
        self._width, self._height = size.columns, size.rows
        self._in_pane = in_pane
        self._frame = Frame((), 0)

    @property
    def ledger(self) -> Ledger:
        """How far history goes, and where the window begins."""
        return self._screen.ledger

    def opening(self) -> str:
        """Nothing: the first frame begins where the cursor is."""
        return ""

    def closing(self, leave: Leave = "for good") -> str:
        """The cursor goes below the last row.

        A pane that is lent is cleared: its history cannot be written again, and would have twice
        what the window shows.
        """
        return self._screen.leave(erased=leave == "lent" and self._in_pane)

    def draw(self, changed: Collection[Component] | None) -> None:
        """Make a frame of the components' rows."""
        rows = (
            self.root.render(self._width)
            if changed is None
            else self.root.render_parts(self._width, changed)
        )
        boundary = self.root.commit_safe_end
        if boundary is None:
            boundary = self.root.live_region_start
        boundary = len(rows) if boundary is None else boundary
        staying = self.root.staying_start
        if staying is not None:
            boundary = min(boundary, staying)
        self._frame = Frame(rows, min(boundary, self._end_of_lasting(len(rows))), staying)

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """The bytes of that frame."""
        self._screen.synchronized = self.synchronized
        self._screen.show_cursor = self.show_cursor
        return self._screen.paint(self._frame, layers, repaint=repaint)

    def resize(self, size: Size, tape: PaneText | None = None) -> Repaint:
        """Everything is written again at the new width, but inside a pane only the window."""
        if self._in_pane:
            return self._resize_in_place(size, tape)
        self._width, self._height = size.columns, size.rows
        self._screen.resize(size.columns, size.rows)
        return Repaint.EVERYTHING

    def acknowledge_frame(self, size: Size) -> None:
        """Frames that a pane took at another size are written again with the next resize."""
        self._screen.acknowledge_frame(size.columns, size.rows)

    def resume(self, size: Size) -> Repaint:
        """History stays as it is; the window is painted below what others have written."""
        return self._resize_in_place(size)

    def reset(self) -> Repaint:
        """Like a resize to the same size; a pane gets what its history does not have."""
        self._screen.question_history()
        return Repaint.WINDOW if self._in_pane else Repaint.EVERYTHING

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Nothing: here the mouse belongs to the terminal."""
        return None

    def _resize_in_place(self, size: Size, tape: PaneText | None = None) -> Repaint:
        before = self._screen.frame_width
        grown = self.root.render(before) if size.columns != before else None
        self._screen.resize_in_place(size.columns, size.rows, grown=grown, tape=tape)
        self._width, self._height = size.columns, size.rows
        return Repaint.WINDOW

    def _end_of_lasting(self, length: int) -> int:
        """Where those rows end that would be above the window if nothing passing were shown.

        Only they may become history: what a dialog hides comes back when it is closed.
        """
        passing = self.root.transient_rows
        if not passing:
            return length
        return max(self.ledger.committed, length - passing - self._height)
