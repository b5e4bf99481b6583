"""Moving, searching and folding in a tree."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.tree.filter import MODES
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree
from pi.modes.interactive.dialogs.tree.view import TreeView
from tests.modes.interactive.dialogs.tree.samples import tree, trees

SAMPLE = tree(
    ("u1", ROOT), ("a1", 0), ("u2", 1), ("a2", 2), ("u3", 1), ("a3", 4), ("t1", 5), leaf=6
)


def ids(view: TreeView) -> list[str]:
    return [view.tree.nodes[row.place].id for row in view.rows]


def selected(view: TreeView) -> str | None:
    return view.selected.id if view.selected else None


def go_to(view: TreeView, id: str) -> None:
    view.move(ids(view).index(id) - view.index)


def test_the_leaf_or_its_nearest_listed_ancestor_is_selected_at_first() -> None:
    assert selected(TreeView(SAMPLE)) == "t1"
    assert selected(TreeView(SAMPLE, "no-tools")) == "a3"
    assert selected(TreeView(SAMPLE, "user-only")) == "u3"


def test_the_selection_stays_on_its_entry_when_the_filter_changes() -> None:
    view = TreeView(SAMPLE)
    go_to(view, "u2")
    view.filter("user-only")
    assert selected(view) == "u2"
    view.filter("all")
    assert selected(view) == "u2"


def test_moving_wraps_around_and_jumping_stops_at_the_ends() -> None:
    view = TreeView(SAMPLE)
    view.move(1)
    assert selected(view) == "u1"
    view.move(-1)
    assert selected(view) == "t1"
    view.jump(-100)
    assert selected(view) == "u1"
    view.jump(100)
    assert selected(view) == "t1"


def test_a_branch_is_folded_where_it_begins_and_unfolded_again() -> None:
    view = TreeView(SAMPLE)
    view.fold_or_up()
    assert selected(view) == "u3"
    view.fold_or_up()
    assert ids(view) == ["u1", "a1", "u2", "a2", "u3"]
    view.fold_or_up()
    assert selected(view) == "u2"
    go_to(view, "u3")
    view.unfold_or_down()
    assert ids(view) == ["u1", "a1", "u2", "a2", "u3", "a3", "t1"]


def test_a_search_finds_folded_entries() -> None:
    view = TreeView(SAMPLE)
    go_to(view, "u3")
    view.fold_or_up()
    view.search("t1")
    assert ids(view) == ["t1"]
    view.search("")
    assert ids(view) == ["u1", "a1", "u2", "a2", "u3"]


def test_without_matches_nothing_is_selected() -> None:
    view = TreeView(SAMPLE)
    view.search("nowhere")
    view.move(1)
    view.jump(-5)
    view.fold_or_up()
    view.unfold_or_down()
    assert (view.index, view.selected) == (0, None)


@given(trees(), st.lists(st.integers(0, 7), max_size=12))
def test_an_entry_is_selected_whenever_entries_are_listed(sample: Tree, steps: list[int]) -> None:
    view = TreeView(sample)
    acts: list[Callable[[], None]] = [
        lambda: view.move(1),
        lambda: view.move(-1),
        lambda: view.jump(5),
        lambda: view.jump(-5),
        view.fold_or_up,
        view.unfold_or_down,
        lambda: view.cycle_filter(1),
        lambda: view.search("n1" if not view.query else ""),
    ]
    for step in steps:
        acts[step]()
        assert view.mode in MODES
        assert (view.selected is not None) == bool(view.rows)
