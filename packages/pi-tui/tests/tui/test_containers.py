from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.component import Area
from pi.tui.containers import Container
from tests.tui.parts import Live, Rows


def test_children_are_rendered_one_below_the_other() -> None:
    container = Container(Rows("a", "b"), Container(Rows("c")), Rows())

    assert container.render(10) == ["a", "b", "c"]


def test_unchanged_children_return_the_same_list() -> None:
    container = Container(Rows("a"), Rows("b"))

    assert container.render(10) is container.render(10)


def test_a_list_that_was_returned_is_not_altered() -> None:
    top, bottom = Rows("a"), Rows("b")
    container = Container(top, bottom)
    before = container.render(10)

    bottom.rows = ["c", "d"]
    after = container.render(10)

    assert (before, after) == (["a", "b"], ["a", "c", "d"])


def test_children_can_be_added_and_removed() -> None:
    first, second, third = Rows("1"), Rows("2"), Rows("3")
    container = Container(first, third)
    container.render(10)

    container.insert_child(1, second)
    assert container.render(10) == ["1", "2", "3"]
    container.remove_child(third)
    container.remove_child(Rows("never there"))
    assert container.render(10) == ["1", "2"]
    container.clear()
    assert container.render(10) == []
    container.add_child(third)
    assert container.render(10) == ["3"]


@pytest.mark.behaviour("input-before-painting")
def test_render_parts_draws_only_the_requested_component() -> None:
    history, spinner = Rows("long"), Rows("|")
    container = Container(history, Container(Rows("status"), spinner))
    container.render(10)

    spinner.rows = ["/"]
    rows = container.render_parts(10, {spinner})

    assert (rows, history.drawn) == (["long", "status", "/"], 1)


def test_render_parts_draws_every_component_at_another_width() -> None:
    history, spinner = Rows("long"), Rows("|")
    container = Container(history, spinner)
    container.render(10)

    container.render_parts(11, {spinner})

    assert history.drawn == 2


@pytest.mark.behaviour("topmost-open-block-limits")
def test_the_live_region_of_a_container_is_that_of_its_first_live_child() -> None:
    container = Container(
        Rows("a", "b"), Live("c", "d", "e", start=1, safe=2), Live("f", start=0, safe=1)
    )
    container.render(10)

    assert (container.live_region_start, container.commit_safe_end) == (3, 4)


def test_without_live_regions_there_is_no_boundary() -> None:
    container = Container(Rows("a"))
    container.render(10)

    assert (container.live_region_start, container.commit_safe_end) == (None, None)


def test_invalidate_is_passed_on_to_every_child() -> None:
    inner = Rows("a")
    container = Container(Container(inner), Rows())

    container.invalidate()

    assert inner.forgotten == 1


@given(st.data())
def test_the_rows_are_those_of_the_children_after_any_change(data: st.DataObject) -> None:
    children = [Rows(str(number)) for number in range(4)]
    container = Container(*children)
    for step in range(data.draw(st.integers(1, 8))):
        child = data.draw(st.sampled_from(children))
        match data.draw(st.sampled_from(["change", "remove", "add", "insert"])):
            case "change":
                child.rows = [f"{step}.{line}" for line in range(data.draw(st.integers(0, 3)))]
            case "remove":
                container.remove_child(child)
            case "add":
                container.add_child(child)
            case "insert":
                container.insert_child(data.draw(st.integers(0, 5)), child)

        rows = container.render(10)

        assert rows == [row for part in container.children for row in part.render(10)]


def test_areas_at_returns_the_child_on_a_row() -> None:
    first, empty, second = Rows("a", "b"), Rows(), Rows("c")
    container = Container(first, empty, second)
    container.render(10)

    assert [container.areas_at(row) for row in (-1, 0, 1, 2)] == [
        [],
        [Area(first, 0, 0, 10, 2)],
        [Area(first, 0, 0, 10, 2)],
        [Area(second, 2, 0, 10, 1)],
    ]


def test_staying_start_is_the_first_row_that_stays_in_the_window() -> None:
    class Staying(Rows):
        stays_in_window = True

    container = Container(Rows("a", "b"))
    container.render(10)
    assert container.staying_start is None

    container.add_child(Staying())
    container.add_child(Rows("c"))
    container.render(10)
    assert container.staying_start == 2
