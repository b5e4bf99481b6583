"""The mouse as components see it, where the whole screen is ours."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pi.base.records import Record
from pi.tui.input.mouse import Button

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


class MouseAnswer(Record):
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
class TakesMouse(Protocol):
    """A component that reacts to the mouse."""

    def handle_mouse(self, event: MouseEvent) -> MouseAnswer | None:
        """React; None or not ``handled`` passes the event on to what is around."""
        ...
