"""Mouse events as components receive them in fullscreen mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pi.base.records import Record
from pi.tui.component import Area, Component
from pi.tui.input.reports import Button

MouseType: TypeAlias = Literal["press", "release", "move", "drag", "click", "wheel"]


class MouseEvent(Record):
    """A mouse event at a component of ``width`` by ``height`` cells."""

    type: MouseType
    button: Button
    x: int
    y: int
    screen_x: int
    screen_y: int
    width: int
    height: int
    shift: bool = False
    alt: bool = False
    ctrl: bool = False
    wheel_delta: int = 0
    click_count: int = 0


class MouseResult(Record):
    """The result of handling a mouse event."""

    handled: bool = False
    """Enclosing components do not receive the event."""
    capture: bool = False
    """The component receives all events until the button is released."""
    focus: bool = False
    """The component requests the focus."""
    render: bool = False
    """The component must be drawn again."""


@runtime_checkable
class MouseTarget(Protocol):
    """A component that handles mouse events."""

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Handle an event. None, or not ``handled``, passes it to the enclosing component."""
        ...


OnMouse: TypeAlias = Callable[[MouseEvent], MouseResult | None]


class MouseRegion:
    """Adds mouse handling to a child: ``on_mouse`` receives the events that it ignores."""

    def __init__(self, child: Component, on_mouse: OnMouse) -> None:
        self.child = child
        self._on_mouse = on_mouse
        self._width = self._height = 0
        self.invalidate = self.child.invalidate
        """Invalidates the child."""

    @property
    def children(self) -> tuple[Component, ...]:
        """The child."""
        return (self.child,)

    def render(self, width: int) -> list[str]:
        """Return the child's rows."""
        rows = self.child.render(width)
        self._width, self._height = width, len(rows)
        return rows

    def areas_at(self, row: int) -> list[Area]:
        """Return the area of the child, which fills the region."""
        return [Area(self.child, 0, 0, self._width, self._height)]

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Call ``on_mouse``."""
        return self._on_mouse(event)
