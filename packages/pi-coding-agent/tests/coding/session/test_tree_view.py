from __future__ import annotations

import json

import pytest
from hypothesis import given

from pi.coding.session.entries import Label, ModelChange
from pi.coding.session.opening import new_session
from pi.coding.session.views import TreeNode, session_tree, tree_json
from tests.coding.session.random_sessions import Step, play, stories
from tests.coding.session.sessions import append_all, make_location, user


def test_the_tree_has_roots_children_and_labels() -> None:
    log = new_session(make_location(None))
    one, two = append_all(log, user("1"), user("2"))
    log.move_to(one)
    three, _ = append_all(log, user("3"), Label(target_id=two, label="here"))
    log.move_to(None)
    append_all(log, user("another root"))

    first, second = session_tree(log)

    assert (first.id, [child.id for child in first.children]) == (one, [two, three])
    assert (first.children[0].label, first.children[0].label_timestamp) == (
        "here",
        "2023-11-14T22:13:20.000Z",
    )
    assert second.children == []


@given(stories)
def test_the_json_form_holds_every_entry_once_below_its_parent(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)

    entries = {}
    waiting = [(None, node) for node in json.loads(tree_json(log))]
    while waiting:
        parent, node = waiting.pop()
        assert node["entry"]["parentId"] == parent
        assert node.get("label") == (
            log.labels[node["entry"]["id"]].label if node["entry"]["id"] in log.labels else None
        )
        entries[node["entry"]["id"]] = node["entry"]
        waiting += [(node["entry"]["id"], child) for child in node["children"]]

    assert sorted(entries) == sorted(outline.id for outline in log.tree.outlines)


@pytest.mark.behaviour("large-files-are-cheap")
def test_a_conversation_of_any_length_can_be_written_as_a_tree() -> None:
    log = new_session(make_location(None))
    for _ in range(5_000):
        log.append(ModelChange(provider="p", model_id="m"))

    written = tree_json(log)
    (node,) = session_tree(log)
    depth = 1
    while node.children:
        (node,) = node.children
        depth += 1

    assert (depth, written.count(b'"children":[')) == (5_000, 5_000)
    assert isinstance(node, TreeNode)
    assert written.endswith(b"]}" * 5_000 + b"]")
