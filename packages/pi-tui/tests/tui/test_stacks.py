from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.component import Area
from pi.tui.stacks import Flex, HStack, VStack
from pi.tui.text.width import visible_width
from tests.tui.parts import Rows


class Filling(Rows):
    def render_in(self, width: int, height: int) -> list[str]:
        return [f"{number}/{height}" for number in range(height)]


def test_a_column_separates_children_by_the_gap() -> None:
    assert VStack(Rows("a"), Rows("b", "c"), gap=1).render(5) == ["a", "", "b", "c"]


def test_a_column_aligns_narrow_children() -> None:
    assert VStack(Rows("ab"), align="center").render(6) == ["  ab"]
    assert VStack(Rows("ab"), align="end").render(6) == ["    ab"]


def test_a_filling_child_gets_the_remaining_height() -> None:
    stack = VStack(Rows("head"), Filling(), Rows("foot"))

    assert stack.render_in(10, 5) == ["head", "0/3", "1/3", "2/3", "foot"]


def test_a_filling_child_gets_the_remaining_height_inside_a_row() -> None:
    stack = VStack(Rows("head"), HStack(Filling(), Rows("ab", "cd"), gap=1, align="end"))

    assert stack.render_in(6, 5) == ["head", "0/4", "1/4", "2/4 ab", "3/4 cd"]


def test_a_nested_stack_without_filling_children_gets_its_content_height() -> None:
    stack = VStack(VStack(Rows("a")), HStack(Rows("b"), Rows("c")), Filling())

    assert stack.render_in(6, 4) == ["a", "bc", "0/2", "1/2"]


def test_hidden_children_are_not_rendered() -> None:
    stack = VStack()
    stack.add_child(Rows("a"), Flex(visible=lambda: False))
    stack.add_child(Rows("b"))

    assert stack.render(5) == ["b"]


def test_children_beside_each_other_share_the_width() -> None:
    left, right = Rows("ab", "cd"), Rows("xy")
    stack = HStack(left, right, gap=2)

    assert stack.render(10) == ["ab  xy", "cd"]
    assert stack.areas == [Area(left, 0, 0, 2, 2), Area(right, 0, 4, 2, 1)]


@pytest.mark.behaviour("styles-close-on-each-line")
def test_open_styles_and_links_of_a_child_do_not_affect_its_neighbour() -> None:
    stack = HStack(Rows("\x1b[31mred"), Rows("\x1b]8;;http://a.b\x07link"), Rows("x"))

    assert stack.render(20) == ["\x1b[31mred\x1b[39m\x1b]8;;http://a.b\x07link\x1b]8;;\x07x"]


def test_a_child_that_is_too_wide_does_not_move_its_neighbour() -> None:
    stack = HStack()
    stack.add_child(Rows("too wide"), Flex(basis=3))
    stack.add_child(Rows("x"))

    assert stack.render(20) == ["toox"]


def test_a_row_aligns_low_children() -> None:
    assert HStack(Rows("a", "b", "c"), Rows("x"), align="end").render(4) == ["a", "b", "cx"]


def test_children_can_be_added_and_removed() -> None:
    child = Rows("a")
    stack = VStack(child, Rows("b"))

    stack.remove_child(child)
    assert stack.render(3) == ["b"]
    stack.clear()
    assert (stack.render(3), stack.children) == ([], ())


def test_invalidate_is_passed_on_to_every_child() -> None:
    child = Rows()

    HStack(child).invalidate()

    assert child.forgotten == 1


@given(
    st.integers(1, 30),
    st.lists(st.lists(st.text("ab日🙂 ", max_size=12), max_size=4), max_size=4),
    st.integers(0, 3),
)
def test_no_row_is_wider_than_the_stack(width: int, texts: list[list[str]], gap: int) -> None:
    children = [Rows(*rows) for rows in texts]

    rows = HStack(*children, gap=gap).render(width)

    assert all(visible_width(row) <= width for row in rows)
