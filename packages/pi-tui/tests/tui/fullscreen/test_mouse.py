from __future__ import annotations

from pi.tui.component import Area
from pi.tui.containers import Container
from pi.tui.fullscreen.display import MouseRouter, targets_at
from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.reports import Action, MouseReport
from pi.tui.mouse import MouseEvent, MouseResult
from pi.tui.stacks import HStack, VStack
from pi.tui.widgets.text import Box
from tests.tui.parts import Rows


class Button(Rows):
    """Handles every event and records it."""

    def __init__(self, *rows: str, answer: MouseResult | None = None) -> None:
        super().__init__(*rows)
        self.answer = answer or MouseResult(handled=True)
        self.events: list[tuple[str, int, int]] = []
        self.clicks: list[int] = []

    def handle_mouse(self, event: MouseEvent) -> MouseResult:
        self.events.append((event.type, event.x, event.y))
        if event.type == "click":
            self.clicks.append(event.click_count)
        return self.answer


def report(action: Action, x: int, y: int) -> MouseReport:
    return MouseReport(action=action, button="left", x=x, y=y)


def whole(component: Rows | VStack, width: int = 10, height: int = 4) -> Area:
    return Area(component, 0, 0, width, height)


def test_the_innermost_component_under_the_mouse_comes_first() -> None:
    left, right = Rows("ab"), Rows("cd")
    row = HStack(left, right)
    stack = VStack(Rows("head"), row)
    stack.render_in(10, 4)

    found = targets_at(whole(stack), 3, 1)

    assert [target.component for target in found] == [right, row, stack]
    assert (found[0].row, found[0].column) == (1, 2)
    assert targets_at(whole(stack), 50, 1) == []


def test_a_component_inside_nested_containers_is_found() -> None:
    button = Rows("ok")
    box = Box(pad_x=2, pad_y=1)
    box.add_child(Rows("one", "two"))
    box.add_child(button)
    inside = Container(Rows("above"), box, Rows("below"))
    view = ScrollView(inside, scrollbar="hidden")
    view.render_in(10, 3)
    view.scroll_to(3)
    view.render_in(10, 3)

    found = targets_at(Area(view, 5, 0, 10, 3), 3, 6)

    assert [target.component for target in found] == [button, box, inside, view]
    assert (found[0].row, found[0].column) == (6, 2)


def test_an_empty_container_is_the_only_target_at_its_area() -> None:
    empty = Container()
    empty.render(10)

    assert targets_at(Area(empty, 0, 0, 10, 3), 1, 1) == [Area(empty, 0, 0, 10, 3)]


def test_events_have_coordinates_relative_to_the_component() -> None:
    button = Button()
    router = MouseRouter()

    router.route(report("press", 7, 3), [Area(button, 2, 5, 4, 4)])

    assert button.events == [("press", 2, 1)]


def test_unhandled_events_go_to_the_next_component() -> None:
    shy, outer = Button(answer=MouseResult()), Button(answer=MouseResult(handled=True, focus=True))
    router = MouseRouter()

    answer, component = router.route(report("press", 0, 0), [whole(shy), whole(outer)])

    assert (answer.focus, component, len(shy.events)) == (True, outer, 1)


def test_a_capture_holds_until_the_button_is_released() -> None:
    owner, other = Button(answer=MouseResult(handled=True, capture=True)), Button()
    router = MouseRouter()

    router.route(report("press", 0, 0), [whole(owner)])
    router.route(report("drag", 9, 9), [whole(other)])
    router.route(report("release", 9, 9), [whole(other)])
    router.route(report("move", 9, 9), [whole(other)])

    assert [name for name, _, _ in owner.events] == ["press", "drag", "release"]
    assert [name for name, _, _ in other.events] == ["move"]


def test_clicks_on_the_same_cell_are_counted() -> None:
    button = Button()
    router = MouseRouter()

    for x in (1, 1, 5):
        router.route(report("press", x, 0), [whole(button)])
        router.route(report("release", x, 0), [whole(button)])
    router.route(report("move", 6, 0), [whole(button)])
    router.route(report("press", 5, 0), [whole(button)])
    router.route(report("release", 5, 0), [whole(button)])
    router.route(report("press", 1, 0), [whole(button)])
    router.route(report("drag", 2, 0), [whole(button)])
    router.route(report("release", 1, 0), [whole(button)])

    assert button.clicks == [1, 2, 1, 1]
