"""Which entries of a tree are listed."""

from __future__ import annotations

import pytest

from pi.modes.interactive.dialogs.tree.filter import MODES, Mode, listed_nodes, next_mode
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree
from tests.modes.interactive.dialogs.tree.samples import node, tree

SAMPLE = tree(
    ("u1", ROOT), ("c1", 0), ("t1", 1), ("a1", 2), ("bookkeeping", 3), ("other", 4), leaf=5
)


def listed(sample: Tree, mode: Mode, query: str = "") -> list[str]:
    numbers = enumerate(listed_nodes(sample, mode, query))
    return [sample.nodes[number].id for number, is_shown in numbers if is_shown]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", ["u1", "t1", "a1", "other"]),
        ("no-tools", ["u1", "a1", "other"]),
        ("user-only", ["u1"]),
        ("labeled-only", []),
        ("all", ["u1", "c1", "t1", "a1", "bookkeeping", "other"]),
    ],
)
def test_every_filter_lists_its_entries(mode: Mode, expected: list[str]) -> None:
    assert listed(SAMPLE, mode) == expected


def test_an_answer_that_only_calls_tools_is_listed_while_it_is_the_leaf() -> None:
    sample = tree(("u1", ROOT), ("c1", 0), leaf=1)
    assert listed(sample, "default") == ["u1", "c1"]
    assert listed(tree(("u1", ROOT), ("c1", 0)), "default") == ["u1"]


def test_labelled_entries_of_any_kind_are_listed() -> None:
    sample = Tree((node("a", ROOT, "tools only", label="here"), node("b", 0)))
    assert listed(sample, "labeled-only") == ["a"]


def test_all_words_of_a_search_must_be_found_in_label_role_or_text() -> None:
    sample = Tree((node("Alpha beta", ROOT, label="Mark"), node("alpha", 0, "assistant")))
    assert listed(sample, "all", "ALPHA mark") == ["Alpha beta"]
    assert listed(sample, "all", "assistant alp") == ["alpha"]
    assert listed(sample, "all", "alpha gamma") == []


def test_filters_are_cycled_through_both_ways() -> None:
    assert next_mode("default", 1) == "no-tools"
    assert next_mode("default", -1) == "all"
    assert next_mode(MODES[-1], 1) == "default"
