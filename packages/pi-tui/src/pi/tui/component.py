"""The component protocols.

A component returns one string per row, each at most ``width`` columns wide. Styles need not be
closed, because the screen ends the styles of every row. Text from outside (models, tools, files)
must have passed ``pi.base.terminal_text``.

A component is any object with ``render`` and ``invalidate``. Optional members are looked up by
name; the protocols below document them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pi.base.records import Record

CURSOR_MARKER = "\x1b_pi:c\x07"
"""A zero-width marker that a focused component puts at the position of the terminal's cursor."""

PROMPT_MARK = "\x1b]133;A;redraw=0\x07"
"""Marks a row as the start of a prompt (OSC 133), to which many terminals can jump with a key.

``redraw=0`` keeps kitty from erasing everything below it when the window is resized.
"""


class Component(Protocol):
    """The members that every component has."""

    def render(self, width: int) -> list[str]:
        """Return the rows at this width.

        Returning the same list object as before means that nothing changed. A returned list must
        therefore never be modified.
        """
        ...

    def invalidate(self) -> None:
        """Discard cached rows, for example because the theme changed."""
        ...


@runtime_checkable
class Interactive(Protocol):
    """A component that receives keys while it has the focus.

    ``wants_key_release`` is optional. Without it, only presses and repeats are delivered.
    """

    def handle_input(self, data: str) -> None:
        """Handle one key or one paste, as the terminal sent it."""
        ...


@runtime_checkable
class Focusable(Protocol):
    """A component that shows whether it has the focus.

    While ``focused``, it puts ``CURSOR_MARKER`` at its cursor position.
    """

    focused: bool


class LiveRegion(Protocol):
    """A component with rows that may still change after they have scrolled out of the window.

    Both values are row numbers in what ``render`` returned last. Rows at and below the effective
    boundary stay out of the terminal's scrollback until the boundary moves past them.
    """

    @property
    def live_region_start(self) -> int | None:
        """The first row that may still change, with all rows below it; None if no row may."""
        ...

    @property
    def commit_safe_end(self) -> int | None:
        """The end of the stable rows at the top of the live region, if known."""
        ...


class Area(Record, kw_only=False):
    """The area in which a component was drawn, relative to its parent."""

    component: Component
    row: int
    column: int
    width: int
    height: int

    def covers(self, x: int, y: int) -> bool:
        """Return whether the area contains a cell."""
        inside = self.column <= x < self.column + self.width
        return inside and self.row <= y < self.row + self.height


class HasChildAreas(Protocol):
    """A component that reports the areas of its children, so that they receive mouse events."""

    def areas_at(self, row: int) -> list[Area]:
        """Return the areas of the children on a row, as last drawn."""
        ...


class HasTransientRows(Protocol):
    """A component with rows that will disappear soon, such as suggestions or a dialog."""

    @property
    def transient_rows(self) -> int:
        """How many rows will disappear. They do not push other rows into the scrollback."""
        ...


class HasBlocks(Protocol):
    """A component of blocks that belong together, such as messages."""

    @property
    def block_starts(self) -> Sequence[int]:
        """The first rows of its blocks, as last drawn. A page of history begins with one."""
        ...


class StaysInWindow(Protocol):
    """A component that always stays in the window, with everything below it."""

    @property
    def stays_in_window(self) -> bool:
        """Whether its rows must never become history, even if the terminal scrolled them out."""
        ...


def wants_key_release(component: object) -> bool:
    """Return whether a component requested key release events."""
    return bool(getattr(component, "wants_key_release", False))
