"""The mouse as components see it, where the whole screen is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pi.base.records import Record
from pi.tui.component import Area, Component
from pi.tui.input.reports import Button

MouseType: TypeAlias = Literal["press", "release", "move", "drag", "click", "wheel"]


class MouseEvent(Record):
    """What the mouse did at a component of ``width`` by ``height`` cells."""

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
    """What a component made of an event."""

    handled: bool = False
    """Components around it do not get the event."""
    capture: bool = False
    """Until the button is released, all events go to it."""
    focus: bool = False
    """It wants the keys."""
    render: bool = False
    """It looks different now."""


@runtime_checkable
class MouseTarget(Protocol):
    """A component that reacts to the mouse."""

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """React; None or not ``handled`` passes the event on to what is around."""
        ...


# A component that reacts to the mouse for one that does not.


OnMouse: TypeAlias = Callable[[MouseEvent], MouseResult | None]


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

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Let ``on_mouse`` decide."""
        return self._on_mouse(event)
