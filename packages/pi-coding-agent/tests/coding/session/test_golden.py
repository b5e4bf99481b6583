from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.messages import AssistantMessage, UserMessage
from pi.coding.session.context import build_session_context
from pi.coding.session.entries import (
    Compaction,
    MessageEntry,
    UnknownEntry,
)
from pi.coding.session.file_operations import clone, fork_before, fork_file
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import open_session
from pi.coding.session.views import Landing, input_text, landing, tree_json
from tests.coding.session.sessions import GOLDEN, SESSIONS, ids, make_location, on_disk


def opened(name: str, tmp_path: Path) -> SessionLog:
    path = tmp_path / f"{name}.jsonl"
    shutil.copy(GOLDEN / "sessions" / path.name, path)
    return open_session(path, make_location(tmp_path))


def recorded(log: str, id: str) -> Any:
    """The response of the original to an RPC command."""
    for line in (GOLDEN / "rpc_answers.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["log"] == log and record["answer"]["id"] == id:
            return record["answer"]["data"]
    raise AssertionError(f"no answer {id} in {log}")


def messages_of(log: SessionLog) -> Any:
    return json.loads(msgspec.json.encode(build_session_context(log).messages))


def entries_of(log: SessionLog) -> list[dict[str, Any]]:
    return [log.json(position) for position in range(len(log.tree))]


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_of_the_original_is_read_in_full_and_left_unchanged(
    path: Path, tmp_path: Path
) -> None:
    log = opened(path.stem, tmp_path)
    lines = on_disk(path)

    unknown = [entry.data["type"] for entry in log.entries() if isinstance(entry, UnknownEntry)]
    build_session_context(log)
    log.close()

    assert unknown == (["future_thing"] if path.stem == "loaded-badline" else [])
    assert entries_of(log) == lines[1:]
    assert log.header.id == lines[0]["id"]
    assert log.leaf_id == lines[-1]["id"]
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_every_entry_of_the_original_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    log = opened(path.stem, tmp_path)

    written = [
        entry.data if isinstance(entry, UnknownEntry) else json.loads(msgspec.json.encode(entry))
        for entry in log.entries()
    ]

    assert written == on_disk(path)[1:]


def test_a_conversation_with_steering_aborts_and_commands_is_shown_as_the_original_shows_it(
    tmp_path: Path,
) -> None:
    log = opened("conversation-steer-abort-bash", tmp_path)
    name = "conversation-steer-followup-abort-bash"

    assert messages_of(log) == recorded(name, "r20")["messages"]
    assert log.name == recorded(name, "r22")["sessionName"]
    assert len(messages_of(log)) == recorded(name, "r22")["messageCount"]
    assert build_session_context(log).thinking_level == recorded(name, "r22")["thinkingLevel"]


def test_a_compaction_is_shown_as_the_original_shows_it(tmp_path: Path) -> None:
    log = opened("compaction-all-reasons", tmp_path)
    name = "compaction-fork-clone-switch"
    first = next(entry.id for entry in log.entries() if isinstance(entry, Compaction))
    later = len(messages_of(log))
    log.move_to(first)

    assert messages_of(log) == recorded(name, "r7")["messages"]
    assert later == recorded(name, "r14")["messageCount"] == recorded(name, "r27")["messageCount"]


def test_the_tree_has_the_json_of_the_original(tmp_path: Path) -> None:
    log = opened("tree-branches-labels", tmp_path)

    answer = {"tree": json.loads(tree_json(log)), "leafId": log.leaf_id}

    assert answer == recorded("extension-ui-and-tree", "r23")


@pytest.mark.parametrize("id", ["r8", "r11"])
def test_entries_have_the_json_of_the_original(id: str, tmp_path: Path) -> None:
    log = opened("tree-branches-labels", tmp_path)
    expected = recorded("extension-ui-and-tree", id)
    count = len(expected["entries"])

    assert entries_of(log)[:count] == expected["entries"]


def test_entries_from_rpc_alone_make_the_same_tree(tmp_path: Path) -> None:
    entries = recorded("abort-during-tools-images", "r9")
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "", "cwd": "/"}
    path = tmp_path / "entries.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *entries["entries"]]))

    log = open_session(path, make_location(tmp_path))

    assert not [entry for entry in log.entries() if isinstance(entry, UnknownEntry)]
    assert (entries_of(log), log.leaf_id) == (entries["entries"], entries["leafId"])


def test_navigation_lands_where_the_original_does(tmp_path: Path) -> None:
    log = opened("tree-branches-labels", tmp_path)

    assert {id: landing(log, id) for id in ("430361c8", "967ccc3a", "13f3e87b")} == {
        "430361c8": Landing(leaf_id="430361c8"),  # an answer
        "967ccc3a": Landing(leaf_id="2c65b44b", text="q1"),  # a question
        "13f3e87b": Landing(leaf_id="ff4c4563", text="custom hello"),  # an extension's message
    }


@pytest.mark.parametrize(
    ("name", "log_name", "id"),
    [
        ("conversation-steer-abort-bash", "conversation-steer-followup-abort-bash", "r19"),
        ("compaction-all-reasons", "compaction-fork-clone-switch", "r15"),
    ],
)
def test_the_user_messages_of_a_branch_are_those_that_the_original_offers_to_fork(
    name: str, log_name: str, id: str, tmp_path: Path
) -> None:
    log = opened(name, tmp_path)

    questions = [
        {"entryId": entry.id, "text": input_text(entry)}
        for entry in log.branch()
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    ]

    assert questions == recorded(log_name, id)["messages"]


@pytest.mark.behaviour("fork-is-complete")
def test_a_fork_has_the_entries_that_the_fork_of_the_original_has(tmp_path: Path) -> None:
    log = opened("compaction-all-reasons", tmp_path)
    expected = on_disk(GOLDEN / "sessions/fork-of-compaction.jsonl")

    fork, text = fork_before(log, "e4152124", make_location(tmp_path))

    assert fork.file is not None
    copied = on_disk(fork.file)
    assert text == recorded("compaction-fork-clone-switch", "r16")["text"]
    assert copied[1:] == expected[1 : len(copied)]
    assert copied[0]["parentSession"] == str(log.file)
    assert [line["type"] for line in copied].count("session") == 1


def test_a_clone_has_the_entries_that_the_clone_of_the_original_has(tmp_path: Path) -> None:
    log = opened("fork-of-compaction", tmp_path)

    copy = clone(log, make_location(tmp_path))

    assert copy.file is not None
    assert on_disk(copy.file)[1:] == on_disk(GOLDEN / "sessions/clone-of-fork.jsonl")[1:]
    assert copy.header.id != log.header.id


def test_the_fork_of_a_file_has_all_its_entries(tmp_path: Path) -> None:
    source = GOLDEN / "sessions/tree-branches-labels.jsonl"

    fork = fork_file(source, make_location(tmp_path))

    assert fork.file is not None
    assert fork.file.read_bytes().split(b"\n")[1:] == source.read_bytes().split(b"\n")[1:]
    assert fork.header.parent_session == str(source)


def test_a_migrated_file_continued_by_the_original_is_one_branch(
    tmp_path: Path,
) -> None:
    log = opened("loaded-v1", tmp_path)

    context = build_session_context(log)

    assert [type(message) for message in context.messages].count(AssistantMessage) == 2
    assert log.tree.path(log.leaf) == list(range(len(ids(log))))
