from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi.modes.interactive.extensions.drawing import (
    SafeComponent,
    SafeInteractive,
    SafeLines,
    fitting,
)
from pi.tui.component import CURSOR_MARKER, Area
from pi.tui.mouse import MouseEvent, MouseRegion, MouseResult
from pi.tui.text.ansi import link
from pi.tui.text.width import visible_width
from tests.modes.interactive.extensions.layouts import Line, plain


@pytest.mark.behaviour("lines-fit-the-terminal")
@example(lines=["0000\N{MYANMAR SIGN SHAN TONE-2}0\N{CJK RADICAL REPEAT}"], width=7)
@given(st.lists(st.text(st.characters(exclude_categories=["C"]))), st.integers(1, 30))
def test_no_row_is_wider_than_the_screen(lines: list[str], width: int) -> None:
    assert all(visible_width(row) <= width for row in fitting(lines, width))


def test_rows_are_split_at_line_breaks() -> None:
    assert fitting(["one\ntwo", "th\tree"], 9) == ["one", "two", "th    ree"]


def test_rows_keep_styles_links_cursor_and_pictures_but_no_other_sequences() -> None:
    drawn = f"\x1b[1;38:5:9mred\x1b[0m {link('https://a', 'here')}{CURSOR_MARKER}"
    picture = "\x1b7\x1b[2A\x1b]1337;File=inline=1:AAAA\x07\x1b8"
    orders = "\x1b[2J\x1b[H\x1b]0;title\x07\x1b]52;c;eA==\x07\x1bc\x1b[?1049h\x1b[>4;2m\r\x07\x9b"

    assert fitting([f"{orders}{drawn}{orders}", picture], 40) == [drawn, picture]
    assert fitting(["a\x1b]8;;https://never-ends"], 40) == ["a"]  # it would hide all that follows


def test_the_same_rows_are_the_same_list() -> None:
    line = Line("x")
    fitted = SafeComponent(line)
    before = fitted.render(9)

    assert fitted.render(9) is before
    line.text = "y"
    assert fitted.render(9) == ["y"]
    fitted.invalidate()
    assert line.forgotten == 1


def test_a_component_without_invalidate_can_be_invalidated() -> None:
    fitted = SafeComponent(SafeLines(["\x1b[31mred\x1b[0m\x1b[2J"]))

    fitted.invalidate()

    assert plain(fitted) == ["red"]


def test_keys_and_the_focus_are_passed_on() -> None:
    line = Line("a")
    player = SafeInteractive(line, lambda error: None)

    player.focused = True
    player.handle_input("b")

    assert (line.focused, player.focused, player.render(9)) == (True, True, ["ab"])


def test_a_component_without_an_input_handler_gets_no_keys() -> None:
    player = SafeInteractive(SafeLines(["x"]), lambda error: None)

    player.focused = True
    player.handle_input("b")

    assert (player.focused, player.render(9)) == (False, ["x"])


def test_exceptions_of_a_component_are_reported() -> None:
    reported: list[str] = []
    player = SafeInteractive(Line("broken"), lambda error: reported.append(str(error)))

    assert player.render(9) == []
    player.handle_input("\x1b")

    assert reported == ["no rows", "no such key"]


def test_a_row_limit_shows_the_number_of_hidden_rows() -> None:
    fitted = SafeComponent(SafeLines(["1", "2", "3", "4"]), lambda: 3)

    assert fitted.render(20) == ["1", "2", "… 2 more"]
    assert SafeComponent(SafeLines(["1", "2", "3"]), lambda: 3).render(20) == ["1", "2", "3"]


def mouse_press() -> MouseEvent:
    return MouseEvent(
        type="press", button="left", x=1, y=0, screen_x=1, screen_y=0, width=9, height=1
    )


def test_the_mouse_is_passed_on() -> None:
    child = SafeLines(["x"])
    region = MouseRegion(SafeComponent(child), lambda event: MouseResult(handled=event.x == 1))
    player = SafeInteractive(region, lambda error: None)
    player.render(9)

    assert player.handle_mouse(mouse_press()) == MouseResult(handled=True)
    assert player.areas_at(0) == [Area(region.child, 0, 0, 9, 1)]


def test_a_component_without_a_mouse_handler_gets_no_mouse_events() -> None:
    player = SafeInteractive(SafeLines(["x"]), lambda error: None)

    assert (player.handle_mouse(mouse_press()), player.areas_at(0)) == (None, [])


def test_a_component_that_fails_at_the_mouse_is_reported() -> None:
    problems: list[Exception] = []

    def fail(event: MouseEvent) -> None:
        raise ValueError("no")

    player = SafeInteractive(MouseRegion(SafeComponent(SafeLines(["x"])), fail), problems.append)

    assert player.handle_mouse(mouse_press()) is None
    assert [str(message) for message in problems] == ["no"]
