from __future__ import annotations

from pi.tui.component import Area
from pi.tui.fullscreen.display import MouseRouter, targets_at
from pi.tui.input.reports import MouseReport
from pi.tui.mouse import MouseEvent, MouseRegion, MouseResult
from pi.tui.stacks import HStack
from tests.tui.parts import Rows

PRESS = MouseReport(action="press", button="left", x=4, y=0)


def test_a_region_receives_mouse_events_at_the_position_of_its_child() -> None:
    events: list[tuple[str, int, int]] = []

    def on_mouse(event: MouseEvent) -> MouseResult:
        events.append((event.type, event.x, event.y))
        return MouseResult(handled=True)

    button = MouseRegion(Rows("OK"), on_mouse)
    stack = HStack(Rows("abc"), button)
    assert stack.render(10) == ["abcOK"]

    answer, owner = MouseRouter().route(PRESS, targets_at(Area(stack, 0, 0, 10, 1), 4, 0))

    assert (answer, owner, events) == (MouseResult(handled=True), button, [("press", 1, 0)])


def test_a_region_renders_and_invalidates_its_child() -> None:
    child = Rows("OK")
    region = MouseRegion(child, lambda event: None)

    region.invalidate()

    assert region.render(9) is child.rows
    assert (region.children, child.forgotten) == ((child,), 1)
