from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.files import FileAccessError
from pi.coding.session.errors import NotASession, SessionInUse, SessionNotFound
from pi.coding.session.file_operations import rename_session
from pi.coding.session.summaries import read_summary
from tests.coding.session.saved import begin, keep, location
from tests.coding.session.sessions import make_stamps
from tests.files import full_disk


def name_of(path: Path) -> str | None:
    facts = read_summary(path)
    assert facts is not None
    return facts.name


def test_a_name_is_added_at_the_end_and_nothing_else_changes(tmp_path: Path) -> None:
    path = keep(location(tmp_path), "x")
    before = path.read_bytes()

    rename_session(path, " a\nname ", make_stamps())
    added = path.read_bytes().removeprefix(before)
    assert added.count(b"\n") == 1
    assert name_of(path) == "a name"

    rename_session(path, "  ", make_stamps())
    assert name_of(path) is None
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.behaviour("closing-keeps-continued-sessions")
def test_an_open_session_is_not_renamed(tmp_path: Path) -> None:
    log = begin(location(tmp_path), "x")
    assert log.file is not None
    before = log.file.read_bytes()

    with pytest.raises(SessionInUse):
        rename_session(log.file, "name", make_stamps())
    log.close()

    assert log.file.read_bytes() == before


def test_a_file_that_is_not_a_session_cannot_be_renamed(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")

    with pytest.raises(NotASession):
        rename_session(tmp_path / "notes.jsonl", "name", make_stamps())
    with pytest.raises(SessionNotFound):
        rename_session(tmp_path / "none.jsonl", "name", make_stamps())

    assert (tmp_path / "notes.jsonl").read_text() == "{}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]


def test_renaming_a_directory_raises(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        rename_session(tmp_path, "name", make_stamps())


@pytest.mark.parametrize("has_room_for_a_lock", [True, False])
def test_a_full_disk_is_reported_and_leaves_the_file_unchanged(
    tmp_path: Path, *, has_room_for_a_lock: bool
) -> None:
    path = keep(location(tmp_path), "x")
    before = path.read_bytes()
    free_bytes = len(before) + 20 if has_room_for_a_lock else 0

    with full_disk(free_bytes), pytest.raises(FileAccessError) as failed:
        rename_session(path, "n" * 100, make_stamps())

    assert failed.value.message == (
        f"The session was not renamed: cannot write {path}: File too large."
    )
    assert path.read_bytes() == before
