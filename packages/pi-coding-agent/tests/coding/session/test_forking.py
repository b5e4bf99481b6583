from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from msgspec import UNSET

from pi.coding.session.context import build_session_context
from pi.coding.session.entries import Compaction, Label, ModelChange, SessionInfo
from pi.coding.session.errors import CannotFork, SessionNotFound
from pi.coding.session.file_operations import clone, fork_at, fork_before, fork_file
from pi.coding.session.opening import new_session, open_session
from tests.coding.session.random_sessions import Step, play, stories
from tests.coding.session.sessions import (
    GOLDEN,
    answer,
    append_all,
    ids,
    make_location,
    on_disk,
    user,
)


@pytest.mark.behaviour("fork-is-complete")
def test_a_fork_keeps_its_beginning_its_compaction_and_its_labels(tmp_path: Path) -> None:
    location = make_location(tmp_path)
    log = new_session(location)
    first, _, kept_id, second = append_all(
        log, user("first"), answer("1"), user("kept"), answer("2")
    )
    append_all(log, Compaction(summary="S", first_kept_id=kept_id, tokens_before=1))
    append_all(log, Label(target_id=first, label="on the path"), user("second"), answer("3"))
    log.move_to(second)
    append_all(log, Label(target_id=kept_id, label="other"), Label(target_id=first))
    log.move_to(ids(log)[7])

    fork = clone(log, location)

    assert ids(fork)[:8] == ids(log)[:8]
    assert build_session_context(fork) == build_session_context(log)
    assert fork.labels == log.labels
    assert fork.file is not None
    assert fork.file != log.file
    assert fork.header.id != log.header.id
    assert [line["type"] for line in on_disk(fork.file)].count("session") == 1
    assert fork.tree.path(fork.leaf) == list(range(len(fork.tree)))
    assert log.file is not None
    fork.close()
    assert open_session(fork.file, location).labels == log.labels


@given(stories)
def test_a_fork_has_the_same_context_and_leaves_the_original_unchanged(story: list[Step]) -> None:
    log = new_session(make_location(None))
    for step in story:
        play(log, step)
    before = [log.line(position) for position in range(len(log.tree))]

    fork = clone(log, make_location(None))

    path = log.tree.path(log.leaf)
    assert build_session_context(fork) == build_session_context(log)
    assert ids(fork)[: len(path)] == [log.tree.outlines[position].id for position in path]
    for position in path:
        id = log.tree.outlines[position].id
        assert fork.labels.get(id) == log.labels.get(id)
    assert [log.line(position) for position in range(len(log.tree))] == before


@pytest.mark.behaviour("branching-from-the-start")
def test_a_fork_before_the_first_message_works_with_and_without_a_file(tmp_path: Path) -> None:
    log = new_session(make_location(None))
    _, first = append_all(log, ModelChange(provider="p", model_id="m"), user("first"))

    fork, text = fork_before(log, first, make_location(None))

    assert (text, ids(fork), fork.file) == ("first", ids(log)[:1], None)
    assert fork.header.parent_session is UNSET
    empty_fork, _ = fork_before(log, first, make_location(tmp_path))
    assert not empty_fork.is_saved
    empty_fork.append(user("better"))
    assert empty_fork.is_saved


@pytest.mark.parametrize("which", ["nowhere", "00000003"])
def test_only_a_user_message_can_be_forked_from(which: str) -> None:
    log = new_session(make_location(None))
    append_all(log, user("1"), answer("2"))

    with pytest.raises(CannotFork, match="Invalid entry ID for forking"):
        fork_before(log, which, make_location(None))


def test_a_fork_at_an_entry_includes_it() -> None:
    log = new_session(make_location(None))
    first, second, _ = append_all(log, user("1"), answer("2"), user("3"))

    assert ids(fork_at(log, second, make_location(None))) == [first, second]
    assert ids(fork_at(log, None, make_location(None))) == []


@pytest.mark.behaviour("session-names-are-clean")
def test_names_are_cleaned_when_they_are_copied(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}\n'
        '{"type":"session_info","id":"a","parentId":null,"timestamp":"t","name":"x\\ny","z":1}\n'
        '{"type":"session_info","id":"b","parentId":"a","timestamp":"t","name":"fine"}'
    )

    fork = fork_file(path, make_location(tmp_path))

    assert fork.file is not None
    assert [(line["name"], line.get("z")) for line in on_disk(fork.file)[1:]] == [
        ("x y", 1),
        ("fine", None),
    ]


def test_a_fork_keeps_a_newer_version_number(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"session","version":99,"id":"s","timestamp":"t","cwd":"/"}\n'
        '{"type":"session_info","id":"a","parentId":null,"timestamp":"t","name":"n"}\n'
    )

    assert fork_file(path, make_location(tmp_path)).header.version == 99


@pytest.mark.behaviour("import-never-overwrites")
def test_the_fork_of_a_missing_file_fails_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        fork_file(tmp_path / "none.jsonl", make_location(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_a_fork_of_an_old_file_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    source = tmp_path / "old.jsonl"
    lines = (GOLDEN / "sessions/loaded-v1.jsonl").read_bytes().replace(b',"version":3', b"")
    source.write_bytes(lines)

    fork = fork_file(source, make_location(tmp_path / "forks"))

    assert (fork.header.version, source.read_bytes()) == (3, lines)


def test_naming_a_fork_does_not_rename_the_original() -> None:
    log = new_session(make_location(None))
    append_all(log, user("1"), SessionInfo(name="mine"))

    fork = clone(log, make_location(None))
    fork.append(SessionInfo(name="other"))

    assert (log.name, fork.name) == ("mine", "other")
