from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.input.keymap import Keymap
from pi.tui.widgets.select_list import ListSelection

UP, DOWN, PAGE_UP, PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"


def selection(count: int, max_visible: int = 3) -> ListSelection:
    rows = ListSelection(max_visible, Keymap())
    rows.resize(count)
    return rows


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        ([DOWN], 1),
        ([UP], 9),
        ([UP, DOWN], 0),
        ([PAGE_DOWN, PAGE_DOWN], 6),
        ([PAGE_DOWN] * 9, 9),
        ([DOWN, PAGE_UP], 0),
    ],
)
def test_keys_move_the_selection(keys: list[str], index: int) -> None:
    rows = selection(10)

    assert all(rows.handle_input(key) for key in keys)
    assert rows.index == index


def test_other_keys_are_not_handled() -> None:
    assert selection(10).handle_input("x") is False


def test_the_position_is_shown_when_rows_are_hidden() -> None:
    assert (selection(4).position, selection(3).position) == ("(1/4)", "")


@pytest.mark.behaviour("selectors")
@given(
    st.lists(st.sampled_from([UP, DOWN, PAGE_UP, PAGE_DOWN])),
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(1, 5),
)
def test_the_selected_row_exists_and_is_visible_after_a_resize(
    keys: list[str], count: int, later: int, max_visible: int
) -> None:
    rows = selection(count, max_visible)
    for key in keys:
        rows.handle_input(key)
    rows.resize(later)

    assert len(rows.visible) == min(later, max_visible)
    assert rows.index in rows.visible or (later, rows.index) == (0, 0)


def test_the_number_of_visible_rows_follows_the_available_height() -> None:
    room = [5]
    selection = ListSelection(lambda: room[0], Keymap())
    selection.resize(20)
    selection.select(10)
    before = (selection.room, selection.visible)

    room[0] = 0

    assert before == (5, range(8, 13))
    assert (selection.room, selection.visible) == (1, range(10, 11))
