from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.width import visible_width
from pi.tui.widgets.select_list import SelectItem, SelectList, SelectTheme

ITEMS = [
    SelectItem(value=name, label=name, description=f"about {name}")
    for name in ("alpha", "beta", "gamma", "delta")
]
MARKS = SelectTheme(
    selected=lambda text: f"<{text}>",
    description=lambda text: f"({text})" if text else "",
    scroll_info=lambda text: f"{{{text}}}",
)


def test_rows_show_labels_descriptions_and_the_position() -> None:
    items = SelectList(ITEMS, 3, MARKS)
    items.select(1)

    assert items.render(30) == [
        "  alpha(  about alpha)",
        "→ <beta   about beta>",
        "  gamma(  about gamma)",
        "{  (2/4)}",
    ]


def test_on_a_narrow_screen_descriptions_are_left_out() -> None:
    assert SelectList(ITEMS[:2]).render(12) == ["→ alpha", "  beta"]


def test_a_description_that_does_not_fit_beside_the_labels_is_shown_below_the_list() -> None:
    items = [
        SelectItem(value="a", label="Log in or store a key", description="the usual way"),
        SelectItem(value="b", label="Tour", description="a script shows the tools; no model"),
    ]
    narrow = SelectList(items, describes_below=True)
    assert narrow.render(32) == [
        "→ Log in or store a key",
        "  Tour",
        "",
        "  the usual way",
        "",  # the longest description has two rows: nothing moves
    ]
    narrow.select(1)
    assert narrow.render(32)[2:] == ["", "  a script shows the tools; no", "  model"]
    assert len(narrow.render(70)) == 2


def test_a_value_replaces_a_missing_label() -> None:
    assert SelectList([SelectItem(value="only")]).render(12) == ["→ only"]


def test_labels_are_sanitised() -> None:
    item = SelectItem(value="x", label="a\x1b[2J\nb", description="\x1b]52;c;AA\x07d")

    assert SelectList([item]).render(30) == ["→ a b  d"]


@pytest.mark.behaviour("selectors")
def test_the_best_match_is_selected_while_typing() -> None:
    items = SelectList(ITEMS)
    items.select(3)

    items.filter("ga")

    assert items.selected == ITEMS[2]
    assert items.render(12) == ["→ gamma"]


@pytest.mark.behaviour("selectors")
def test_an_empty_list_has_nothing_to_choose() -> None:
    chosen: list[SelectItem] = []
    items = SelectList(ITEMS, on_select=chosen.append)
    items.filter("zzz")

    for key in ("\x1b[A", "\x1b[B", "\r"):
        items.handle_input(key)

    assert (items.selected, chosen) == (None, [])
    assert items.render(30) == ["  No matching items"]


def test_enter_calls_on_select_and_moving_calls_on_change() -> None:
    chosen: list[SelectItem] = []
    seen: list[SelectItem] = []
    items = SelectList(ITEMS, on_select=chosen.append, on_change=seen.append)
    seen.clear()

    for key in ("\x1b[B", "\x1b[B", "\r", "x"):
        items.handle_input(key)

    assert (chosen, seen) == ([ITEMS[2]], [ITEMS[1], ITEMS[2]])


@pytest.mark.behaviour("selectors")
@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_close(key: str) -> None:
    cancelled: list[str] = []
    SelectList(ITEMS, on_cancel=lambda: cancelled.append("now")).handle_input(key)

    assert cancelled == ["now"]


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), max_size=8),
    st.integers(1, 50),
)
def test_no_row_is_too_wide(texts: list[tuple[str, str]], width: int) -> None:
    items = [SelectItem(value="日本", label=label, description=text) for label, text in texts]

    assert all(visible_width(row) <= width for row in SelectList(items).render(width))
