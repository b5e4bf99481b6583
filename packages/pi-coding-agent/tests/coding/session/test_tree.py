from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.session.entry_tree import EntryTree
from pi.coding.session.errors import EntryNotFound
from pi.coding.session.reading import Outline

links = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.none() | st.sampled_from("abcdefghz")), max_size=12
)
"""Ids and parents in any order, with duplicates, unknown parents and cycles."""


def tree(*pairs: tuple[str, str | None]) -> EntryTree:
    return EntryTree([Outline(type="x", id=id, parent_id=parent) for id, parent in pairs])


def test_paths_children_and_siblings_follow_the_parents() -> None:
    entry_tree = tree(("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", None))

    assert entry_tree.path(entry_tree.place("c")) == [0, 1, 2]
    assert entry_tree.path(None) == []
    assert [list(entry_tree.children(position)) for position in (None, 0, 1, 2)] == [
        [0, 4],
        [1, 3],
        [2],
        [],
    ]
    assert list(entry_tree.siblings(3)) == [1, 3]
    assert entry_tree.abandoned(2, 3) == [1, 2]
    assert entry_tree.abandoned(2, None) == [0, 1, 2]


def test_an_added_entry_is_found_like_the_others() -> None:
    entry_tree = tree(("a", None))
    assert list(entry_tree.children(0)) == []

    position = entry_tree.add(Outline(type="x", id="b", parent_id="a"))
    root = entry_tree.add(Outline(type="x", id="c"))
    orphan = entry_tree.add(Outline(type="x", id="d", parent_id="gone"))

    assert (entry_tree.path(position), list(entry_tree.children(0)), "b" in entry_tree) == (
        [0, 1],
        [1],
        True,
    )
    assert list(entry_tree.children(None)) == [0, root, orphan]


def test_an_unknown_id_raises() -> None:
    with pytest.raises(EntryNotFound, match="Entry not found: zz"):
        tree(("a", None)).place("zz")


def test_an_entry_whose_parent_is_unknown_is_a_root() -> None:
    assert list(tree(("a", "gone"), ("b", "a")).children(None)) == [0]


def test_a_parent_may_come_later_in_the_file() -> None:
    entry_tree = tree(("c", "b"), ("b", "a"), ("a", None))

    assert entry_tree.path(0) == [2, 1, 0]


@pytest.mark.parametrize(
    "pairs", [[("a", "a")], [("a", "b"), ("b", "a")], [("a", "c"), ("b", "a"), ("c", "b")]]
)
def test_a_cycle_of_parents_is_broken_at_one_place(pairs: list[tuple[str, str | None]]) -> None:
    entry_tree = tree(*pairs)

    assert len(entry_tree.children(None)) == 1
    assert max(len(entry_tree.path(position)) for position in range(len(entry_tree))) == len(
        entry_tree
    )


@given(links)
def test_every_walk_ends_and_every_entry_is_reached_from_a_root(
    pairs: list[tuple[str, str | None]],
) -> None:
    entry_tree = tree(*pairs)

    reached: list[int] = []
    waiting = list(entry_tree.children(None))
    while waiting:
        reached.append(waiting.pop())
        waiting += entry_tree.children(reached[-1])

    assert sorted(reached) == list(range(len(pairs)))
    for position in reached:
        path = entry_tree.path(position)
        assert path[-1] == position
        assert entry_tree.parent(path[0]) is None


@pytest.mark.behaviour("large-files-are-cheap")
@pytest.mark.parametrize("backwards", [False, True])
def test_a_deep_branch_is_built_in_linear_time(backwards: bool) -> None:
    count = 50_000
    pairs = [(str(n), str(n - 1)) for n in range(count)]

    entry_tree = tree(*(reversed(pairs) if backwards else pairs))

    assert len(entry_tree.path(0 if backwards else count - 1)) == count
