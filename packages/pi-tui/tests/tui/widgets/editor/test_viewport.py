from __future__ import annotations

import pytest

from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.layout import Row, Viewport
from pi.tui.widgets.editor.text_units import TextUnits


def viewport(lines: list[str], cursor: Position, *, width: int = 10, height: int = 3) -> Viewport:
    view = Viewport(TextUnits())
    view.update(lines, cursor, width=width, height=height)
    return view


def test_the_window_follows_the_cursor() -> None:
    lines = list("abcdef")
    view = viewport(lines, Position(4, 0))

    assert (view.above, view.below) == (2, 1)
    assert view.visible == [Row(2, 0, 1), Row(3, 0, 1), Row(4, 0, 1)]
    view.update(lines, Position(3, 0), width=10, height=3)
    assert view.above == 2
    view.update(lines, Position(0, 0), width=10, height=3)
    assert (view.above, view.below) == (0, 3)
    view.update(["a"], Position(0, 0), width=10, height=3)
    assert (view.above, view.below, view.on_first_row, view.on_last_row) == (0, 0, True, True)


@pytest.mark.behaviour("cursor-moves-by-grapheme")
def test_vertical_moves_keep_the_column_over_shorter_rows() -> None:
    lines = ["abcdef", "x", "日本語"]
    view = viewport(lines, Position(0, 5))

    down = view.moved(1)
    assert down == Position(1, 1)
    view.update(lines, down, width=10, height=3)
    assert view.moved(1) == Position(2, 2)
    view.target_column = None
    assert view.moved(1) == Position(2, 0)


def test_at_returns_the_position_of_a_visible_cell() -> None:
    view = viewport(list("abcdef"), Position(5, 0))

    assert view.at(0, 0) == Position(3, 0)
    assert view.at(1, 9) == Position(4, 1)


def test_very_small_sizes_are_supported() -> None:
    view = viewport(["ab"], Position(0, 2), width=0, height=0)

    assert view.visible == [Row(0, 1, 2)]
    assert view.page == 1
