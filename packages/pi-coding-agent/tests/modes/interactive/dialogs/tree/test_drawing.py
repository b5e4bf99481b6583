"""Rows of the session tree."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree
from pi.modes.interactive.dialogs.tree.rows import draw_row, fit_connectors
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from tests.modes.interactive.dialogs.tree.samples import node, trees
from tests.modes.interactive.fake_screen import plain_theme


def drawn(view: TreeView, width: int = 40, *, times: bool = False) -> list[str]:
    rows = (
        draw_row(view, row, plain_theme(), width, selected=False, times=times) for row in view.rows
    )
    return [strip_sequences(row).rstrip() for row in rows]


def test_labels_and_the_active_branch_are_marked() -> None:
    sample = Tree(
        (
            node("hello", ROOT, label="here", label_timestamp="2026-11-15T19:23:06Z"),
            node("a", 0, "assistant"),
            node("b", 0, "tool"),
        ),
        leaf=1,
    )
    view = TreeView(sample)
    assert drawn(view) == ["• [here] user: hello", "├─ • assistant: a", "└─ [tool: b]"]


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where clocks are nine hours ahead."""
    with monkeypatch.context() as there:
        there.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process is of POSIX")
@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("2026-11-15T19:23:06.000Z", "2026-11-16 04:23"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("some day", "some day"),
    ],
)
def test_labels_show_the_local_time(stored: str, shown: str) -> None:
    view = TreeView(Tree((node("hello", ROOT, label="here", label_timestamp=stored),)))
    assert drawn(view, 60, times=True) == [f"[here {shown}] user: hello"]


@pytest.mark.behaviour("tree-view-filters")
def test_entries_of_many_branches_stay_readable() -> None:
    nodes = [node("root", ROOT)]
    for depth in range(1, 60):
        before = 2 * depth - 3 if depth > 1 else 0
        nodes += [node(f"deep question {depth}", before), node("other", before)]
    lines = drawn(TreeView(Tree(tuple(nodes)), "all"), 60)
    assert any(line.endswith("user: deep question 59") for line in lines)
    assert all(len(line) <= 60 for line in lines)


@given(st.integers(0, 80), st.integers(-5, 120))
def test_connectors_keep_whole_steps(depth: int, room: int) -> None:
    lines = "│  " * depth + "├─ "
    fitted_lines = fit_connectors(lines, room)
    assert fitted_lines == lines or (
        fitted_lines.startswith("… ") and lines.endswith(fitted_lines[2:])
    )
    assert fitted_lines == lines or len(fitted_lines) <= max(room, 5)
    assert fitted_lines.endswith("├─ ")


@given(trees(), st.integers(1, 60))
def test_rows_fit_any_width(sample: Tree, width: int) -> None:
    view = TreeView(sample, "all")
    assert all(visible_width(line) <= width for line in drawn(view, width))


def test_how_much_is_folded_is_reported_however_long_the_entry_is() -> None:
    view = TreeView(Tree((node("word " * 30, ROOT), node("a", 0), node("b", 1)), leaf=ROOT))
    view.jump(-9)
    view.fold_or_up()
    assert drawn(view, 30) == ["⊞ user: word word word w… (+2)"]
