"""A component that reacts to the mouse for one that does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pi.tui.component import Area, Component
from pi.tui.mouse import MouseAnswer, MouseEvent

OnMouse: TypeAlias = Callable[[MouseEvent], MouseAnswer | None]


class MouseRegion:
    """Looks like its child; ``on_mouse`` gets the events that the child does not handle."""

    def __init__(self, child: Component, on_mouse: OnMouse) -> None:
        self.child = child
        self._on_mouse = on_mouse
        self._width = self._height = 0

    @property
    def children(self) -> tuple[Component, ...]:
        """What is shown."""
        return (self.child,)

    def render(self, width: int) -> list[str]:
        """The child's rows."""
        rows = self.child.render(width)
        self._width, self._height = width, len(rows)
        return rows

    def invalidate(self) -> None:
        """Make the child forget what it remembers."""
        self.child.invalidate()

    def areas_at(self, row: int) -> list[Area]:
        """The child, which has all of it."""
        return [Area(self.child, 0, 0, self._width, self._height)]

    def handle_mouse(self, event: MouseEvent) -> MouseAnswer | None:
        """Let ``on_mouse`` decide."""
        return self._on_mouse(event)
