"""Which lines stand before the entries of a tree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.tree.filter import MODES, Mode, listed_nodes
from pi.modes.interactive.dialogs.tree.layout import Row, lay_out, listed_children
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree
from tests.modes.interactive.dialogs.tree.samples import node, tree, trees


def drawn(sample: Tree, rows: list[Row]) -> list[str]:
    """The rows as text."""
    return [row.lines + sample.nodes[row.place].id for row in rows]


def everything(sample: Tree) -> list[bool]:
    return [True] * len(sample.nodes)


def test_a_chain_of_entries_is_not_indented() -> None:
    sample = tree(("u1", ROOT), ("a1", 0), ("u2", 1), ("a2", 2))
    assert drawn(sample, lay_out(sample, everything(sample))) == ["u1", "a1", "u2", "a2"]


def test_branches_are_moved_to_the_right_and_connected() -> None:
    sample = tree(("u1", ROOT), ("a1", 0), ("u2", 1), ("a2", 2), ("u3", 1), ("a3", 4), ("u4", 5))
    assert drawn(sample, lay_out(sample, everything(sample))) == [
        "u1",
        "a1",
        "├─ u2",
        "│  a2",
        "└─ u3",
        "   a3",
        "   u4",
    ]


def test_several_roots_are_connected_without_a_common_parent() -> None:
    sample = tree(("u1", ROOT), ("a1", 0), ("u2", ROOT))
    assert drawn(sample, lay_out(sample, everything(sample))) == ["├─ u1", "│  a1", "└─ u2"]


@pytest.mark.behaviour("tree-view-filters")
def test_children_of_a_hidden_entry_are_attached_to_its_parent() -> None:
    sample = tree(
        ("u1", ROOT), ("c1", 0), ("t1", 1), ("a1", 2), ("c2", 0), ("u2", 4), ("u3", 4), leaf=3
    )
    assert drawn(sample, lay_out(sample, listed_nodes(sample, "no-tools"))) == [
        "u1",
        "├─ a1",
        "├─ u2",
        "└─ u3",
    ]


def test_a_folded_branch_shows_how_much_it_hides() -> None:
    sample = tree(("u1", ROOT), ("a1", 0), ("u2", 1), ("a2", 2), ("u3", 1))
    rows = lay_out(sample, everything(sample), {2})
    assert drawn(sample, rows) == ["u1", "a1", "├─ u2", "└─ u3"]
    assert [row.hidden for row in rows] == [0, 0, 1, 0]


def test_older_branches_come_first() -> None:
    late, early = node("a1", 0, timestamp="2"), node("a2", 0, timestamp="1")
    sample = Tree((node("u1", ROOT), late, early))
    assert drawn(sample, lay_out(sample, everything(sample))) == ["u1", "├─ a2", "└─ a1"]


@pytest.mark.behaviour("tree-view-filters")
@given(trees(), st.sampled_from(MODES), st.sampled_from(["", "n1", "n2 n"]), st.data())
def test_connectors_are_consistent_whatever_is_hidden(
    sample: Tree, mode: Mode, query: str, data: st.DataObject
) -> None:
    listed = listed_nodes(sample, mode, query)
    node_numbers = st.integers(0, max(len(sample.nodes) - 1, 0))
    folded = data.draw(st.sets(node_numbers, max_size=3))
    rows = lay_out(sample, listed, folded)

    below = listed_children(sample, listed)
    hidden = {number for node in folded for number in _under(below, node) if listed[node]}
    assert [row.place for row in rows] == list(dict.fromkeys(row.place for row in rows))
    assert {row.place for row in rows} == {p for p, is_on in enumerate(listed) if is_on} - hidden
    _check_lines(rows)


def _under(below: dict[int, list[int]], number: int) -> set[int]:
    descendants: set[int] = set()
    waiting = list(below.get(number, ()))
    while waiting:
        descendant = waiting.pop()
        descendants.add(descendant)
        waiting += below.get(descendant, ())
    return descendants


def _check_lines(rows: list[Row]) -> None:
    """Every line downwards ends at a corner or a branch, and every corner has a line from above."""
    for row, after in pairwise(rows):
        for column, char in enumerate(row.lines):
            if char in "├│":
                assert after.lines[column : column + 1] in ("├", "└", "│"), (row, after)
    for before, row in zip([None, *rows], rows, strict=False):
        for column, char in enumerate(row.lines):
            if char in "├└│" and before is not None and column < len(before.lines):
                assert before.lines[column] in "├│", (before, row)
            if char == "│":
                assert before is not None
                assert column < len(before.lines)
    if rows:
        assert "├" not in rows[-1].lines
        assert "│" not in rows[-1].lines
