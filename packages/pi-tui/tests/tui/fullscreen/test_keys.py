from __future__ import annotations

import pytest

from pi.tui.component import CURSOR_MARKER
from pi.tui.fullscreen.keys import ScrollKeys, SearchBar
from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keymap import Keymap
from tests.tui.parts import Rows, numbered

PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
HOME, END = "\x1b[1;5H", "\x1b[1;5F"
SEARCH = "\x1b[102;6u"


def make() -> tuple[ScrollView, ScrollKeys, list[str]]:
    scroll = ScrollView(Rows(*numbered(100)), follow="end", scrollbar="hidden")
    scroll.render_in(10, 11)
    opened: list[str] = []
    return scroll, ScrollKeys(scroll, Keymap(), open_search=lambda: opened.append("x")), opened


@pytest.mark.parametrize(
    ("keys", "first"),
    [((PAGE_UP,), 79), ((HOME,), 0), ((HOME, PAGE_DOWN), 10), ((HOME, END), 89)],
)
def test_keys_scroll_the_view(keys: tuple[str, ...], first: int) -> None:
    scroll, listener, _ = make()

    decisions = [listener(key) for key in keys]

    assert decisions == [InputDecision(consume=True)] * len(keys)
    assert scroll.render_in(10, 11)[0] == f"row {first}"


def test_scrolling_by_a_line_or_half_a_page_can_be_bound() -> None:
    scroll, _, _ = make()
    keymap = Keymap({"tui.altScreen.lineUp": ("ctrl+y",), "tui.altScreen.halfPageUp": ("ctrl+u",)})
    listener = ScrollKeys(scroll, keymap, open_search=lambda: None)

    listener("\x19")
    listener("\x15")

    assert scroll.render_in(10, 11)[0] == "row 83"


def test_other_keys_are_not_consumed() -> None:
    _, listener, opened = make()

    assert (listener("a"), opened) == (None, [])


def test_the_search_key_opens_the_search() -> None:
    _, listener, opened = make()

    assert (listener(SEARCH), opened) == (InputDecision(consume=True), ["x"])


def test_typed_text_is_searched_for_and_escape_closes_the_bar() -> None:
    scroll, _, _ = make()
    closed: list[str] = []
    bar = SearchBar(scroll, Keymap(), close=lambda: closed.append("x"))

    for key in "row 5x":
        bar.handle_input(key)
    bar.handle_input("\x7f")
    assert bar.render(40) == ["Search: row 5  11/11"]
    bar.handle_input("\r")
    assert bar.render(40) == ["Search: row 5  10/11"]
    bar.handle_input("\x1b[13;2u")
    assert bar.render(12) == ["Search: w 5"]
    assert any("\x1b[7m" in row for row in scroll.render_in(10, 11))
    bar.handle_input("\x1b")
    assert (closed, any("\x1b[7m" in row for row in scroll.render_in(10, 11))) == (["x"], False)


def test_the_caret_is_in_the_bar_while_it_has_the_focus() -> None:
    scroll, _, _ = make()
    bar = SearchBar(scroll, Keymap(), close=lambda: None)
    bar.focused = True
    bar.invalidate()
    bar.handle_input("\x1b[A")

    assert bar.render(20) == [f"Search: {CURSOR_MARKER}\x1b[7m \x1b[27m"]


def test_a_search_is_edited_like_any_text() -> None:
    scroll, _, _ = make()
    closed: list[str] = []
    bar = SearchBar(scroll, Keymap(), close=lambda: closed.append("x"))

    bar.handle_input("\x1b[200~row nine\x1b[201~")
    bar.handle_input("\x17")
    bar.handle_input("9")
    assert bar.render(40) == ["Search: row 9  11/11"]
    bar.handle_input("\x03")
    assert closed == ["x"]
