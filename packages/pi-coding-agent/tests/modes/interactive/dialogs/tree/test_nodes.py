"""The entries of a session as nodes."""

from __future__ import annotations

from pathlib import Path

from pi.ai.messages import ToolCall
from pi.modes.interactive.dialogs.tree.nodes import ROOT, read_tree
from pi.testing import Reply, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_a_tree_has_every_entry_with_its_parent_label_and_the_leaf(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("One"), says("Two"))
    session = await fixture.open()
    await session.prompts.prompt("first")
    await session.prompts.prompt("second")
    points = session.info.fork_points()
    await session.info.label(points[0].entry_id, "start")
    await session.tree.go_to(points[1].entry_id)
    tree = read_tree(session)

    messages = [node for node in tree.nodes if node.description.kind in ("user", "assistant")]
    assert [node.description.text for node in messages] == ["first", "One", "second", "Two"]
    assert messages[0].label == "start"
    assert tree.nodes[tree.leaf] == messages[1]
    assert [tree.nodes[number].id for number in sorted(tree.path())][-1] == messages[1].id
    assert tree.index_of(messages[2].id) == tree.nodes.index(messages[2])
    assert tree.index_of("nowhere") == ROOT
    await session.close()


async def test_an_empty_session_is_an_empty_path(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    await session.prompts.record_model_choice()
    tree = read_tree(session)
    assert all(node.description.kind == "bookkeeping" for node in tree.nodes)
    await session.close()


async def test_results_are_matched_to_their_calls_although_ids_are_reused(tmp_path: Path) -> None:
    calls = [
        ToolCall(id="call_0", name="bash", arguments={"command": f"echo {word}"})
        for word in ("one", "two")
    ]
    fixture = SessionFixture(tmp_path, *(Reply(blocks=(call,)) for call in calls), says("Done"))
    session = await fixture.open()
    await session.prompts.prompt("go")

    descriptions = [node.description for node in read_tree(session).nodes]

    assert [description.text for description in descriptions if description.kind == "tool"] == [
        "echo one",
        "echo two",
    ]
    await session.close()
