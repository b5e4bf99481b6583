from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from pi.ai.messages import SystemMessage
from pi.coding.session.entries import (
    BashExecution,
    Bookmark,
    Compaction,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    UnknownEntry,
)
from pi.coding.session.errors import EntryNotFound
from pi.coding.session.log import is_worth_keeping
from pi.coding.session.opening import new_session, open_session
from tests.coding.session.random_sessions import Step, play, stories
from tests.coding.session.sessions import answer, append_all, ids, make_location, on_disk, user


@given(stories)
def test_any_tree_of_entries_round_trips(story: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        log = new_session(make_location(Path(folder)))
        log.append(user("worth keeping"))
        for step in story:
            play(log, step)
        log.close()
        assert log.file is not None

        again = open_session(log.file, make_location(Path(folder)))
        again.close()

    assert list(again.entries()) == list(log.entries())
    assert (again.header, again.name, again.labels) == (log.header, log.name, log.labels)
    assert again.leaf == len(again.tree) - 1
    positions = range(len(log.tree))
    assert [again.tree.path(position) for position in positions] == [
        log.tree.path(p) for p in positions
    ]
    assert not any(isinstance(entry, UnknownEntry) for entry in again.entries())


def test_an_entry_follows_the_leaf_and_becomes_it() -> None:
    log = new_session(make_location(None))
    first = log.append(user("1"))
    second = log.append(user("2"))
    log.move_to(first.id)
    third = log.append(user("3"))

    assert [first.parent_id, second.parent_id, third.parent_id] == [None, first.id, first.id]
    assert first.timestamp == "2023-11-14T22:13:20.000Z"
    assert (log.leaf_id, log.entry(second.id)) == (third.id, second)
    assert list(log.branch()) == [first, third]


def test_the_transcript_shows_everything_with_compactions_where_they_happened() -> None:
    log = new_session(make_location(None))
    append_all(log, user("1"), answer("2"))
    log.append(Compaction(summary="S", first_kept_id=log.leaf_id or "", tokens_before=1))
    log.append(user("3"))

    kinds = [type(entry).__name__ for entry in log.branch()]

    assert kinds == ["MessageEntry", "MessageEntry", "Compaction", "MessageEntry"]


def test_moving_to_an_unknown_entry_raises() -> None:
    with pytest.raises(EntryNotFound):
        new_session(make_location(None)).move_to("nowhere")


@pytest.mark.behaviour("session-names-are-clean")
def test_names_and_labels_are_stored_clean(tmp_path: Path) -> None:
    log = new_session(make_location(tmp_path))
    (first,) = append_all(log, SessionInfo(name="a\nb\x1b[2J "))
    append_all(log, Label(target_id=first, label="x\ty"), Label(target_id="other", label="\n"))
    assert log.file is not None

    stored = on_disk(log.file)[1:]

    assert [stored[0]["name"], stored[1]["label"], "label" in stored[2]] == ["a b", "x y", False]
    assert (log.name, log.labels) == (
        "a b",
        {first: Bookmark(label="x y", timestamp="2023-11-14T22:13:20.000Z")},
    )


def test_unknown_entries_keep_all_fields() -> None:
    line = b'{"type":"future","id":"a","parentId":null,"x":[1]}\n'
    log = new_session(make_location(None), lines=[line])

    assert (log.json(0), log.line(0)) == (json.loads(line), line)


def test_only_messages_commands_documents_and_names_are_worth_keeping() -> None:
    bash = MessageEntry(message=BashExecution(command="ls", output=""))
    worth: list[Entry] = [user("1"), answer("2"), bash, SessionInfo(name="n")]
    worth.append(CustomMessageEntry(custom_type="handoff", content="the document"))
    not_worth: list[Entry] = [
        ModelChange(provider="p", model_id="m"),
        ThinkingLevelChange(thinking_level="off"),
        MessageEntry(message=SystemMessage(content="")),
        MessageEntry(message=CustomMessage(custom_type="c", content="x")),
        CustomMessageEntry(custom_type="c", content="x"),
        Custom(custom_type="c"),
        SessionInfo(),
        SessionInfo(name=""),
    ]

    assert [is_worth_keeping(entry) for entry in worth] == [True] * 5
    assert [is_worth_keeping(entry) for entry in not_worth] == [False] * 8


def test_entry_ids_are_unique() -> None:
    existing_line = b'{"type":"x","id":"00000002","parentId":null}\n'
    log = new_session(make_location(None), lines=[existing_line])

    append_all(log, user("1"), user("2"))

    assert len(set(ids(log))) == 3
