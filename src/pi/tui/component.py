"""What can be drawn: anything that turns a width into lines.

A component returns one string per row, each at most ``width`` columns wide, styled with escape
sequences that need not be closed: the screen ends every row's styles. Text from outside (models,
tools, files) must have passed ``pi.base.terminal_text`` before it gets here.

The optional members below are looked up by name, so a component is any object with ``render`` and
``invalidate``; the protocols spell the optional members out for those that have them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from pi.base.records import Record

CURSOR_MARKER = "\x1b_pi:c\x07"
"""Zero columns wide; a focused component puts it where the terminal's cursor belongs."""


class Component(Protocol):
    """The least a component has."""

    def render(self, width: int) -> list[str]:
        """The rows at this width.

        The same list object as last time says that nothing changed; a list that was returned is
        therefore never altered afterwards.
        """
        ...

    def invalidate(self) -> None:
        """Forget what was remembered about the last rendering, e.g. because the theme changed."""
        ...


@runtime_checkable
class Interactive(Protocol):
    """A component that takes keys while it has the focus.

    ``wants_key_release`` is optional; without it only presses and repeats arrive.
    """

    def handle_input(self, data: str) -> None:
        """One key or one paste, as the terminal sent it."""
        ...


@runtime_checkable
class Focusable(Protocol):
    """A component that shows whether it has the focus.

    While ``focused`` it puts ``CURSOR_MARKER`` at its caret.
    """

    focused: bool


class LiveRegion(Protocol):
    """A component with rows that may still change after they have scrolled out of the window.

    Both are row numbers in what ``render`` returned last. Rows at and below the effective
    boundary stay out of the terminal's scrollback until the boundary moves past them.
    """

    @property
    def live_region_start(self) -> int | None:
        """The first row that may still change, and with it all below; None if none may."""
        ...

    @property
    def commit_safe_end(self) -> int | None:
        """Where the settled head of the live region ends, if it is known to have one."""
        ...


class Area(Record, kw_only=False):
    """Where a component was drawn, counted from the first cell of what it is in."""

    component: Component
    row: int
    column: int
    width: int
    height: int

    def covers(self, x: int, y: int) -> bool:
        """Whether a cell belongs to it."""
        inside = self.column <= x < self.column + self.width
        return inside and self.row <= y < self.row + self.height


class HasChildAreas(Protocol):
    """A component that says where its children are, so that they get the mouse."""

    def areas_at(self, row: int) -> list[Area]:
        """The children on a row, as they were last drawn."""
        ...


class HasTransientRows(Protocol):
    """A component some of whose rows go away soon, such as suggestions or a question."""

    @property
    def transient_rows(self) -> int:
        """How many rows fewer there will be. They push nothing into the terminal's scrollback."""
        ...


class StaysInWindow(Protocol):
    """A component that belongs to the window, with whatever is below it."""

    @property
    def stays_in_window(self) -> bool:
        """Whether its rows are never history, wherever a terminal may have put them."""
        ...


def wants_key_release(component: object) -> bool:
    """Whether a component asked to be told when keys are let go."""
    return bool(getattr(component, "wants_key_release", False))


# Remembers the rows of a widget until it changes or the width does.


class RowCache:
    """The rows of the last rendering; the same list again tells the screen that nothing changed."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] | None = None
        self._rows: list[str] = []

    def rows(
        self, width: int, draw: Callable[[int], list[str]], *circumstances: object
    ) -> list[str]:
        """The remembered rows, or those that ``draw`` makes for another width or circumstances."""
        key = (width, *circumstances)
        if key != self._key:
            self._rows = draw(width)
            self._key = key
        return self._rows

    def forget(self) -> None:
        """Draw again next time."""
        self._key = None
