from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.files import FileAccessError
from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.errors import NotASession, SessionInUse, SessionNotFound, SessionProblem
from pi.coding.session.file_operations import move_session, relocated
from pi.coding.session.opening import open_session
from tests.coding.session.saved import HERE, THERE, begin, keep, location


def with_artifacts(agent_dir: Path) -> Path:
    path = keep(location(agent_dir), "x", id="abc")
    artifact_directory(path).mkdir()
    (artifact_directory(path) / "0.bash.log").write_text("output")
    return path


def tree(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_moved_session_belongs_to_its_new_directory_with_its_artifacts(tmp_path: Path) -> None:
    path = with_artifacts(tmp_path)
    header, rest = path.read_bytes().split(b"\n", 1)
    directory = location(tmp_path, THERE).directory
    assert directory is not None

    moved = move_session(path, cwd=THERE, directory=directory)

    new_header, new_rest = moved.read_bytes().split(b"\n", 1)
    assert json.loads(new_header) == json.loads(header) | {"cwd": THERE}
    assert new_rest == rest
    assert tree(directory) == {
        moved.name: moved.read_bytes(),
        f"{moved.stem}/0.bash.log": b"output",
    }
    assert tree(path.parent) == {}
    assert [session.path for session in SessionCatalog(tmp_path).in_directory(THERE)] == [moved]
    open_session(moved, location(tmp_path, THERE)).close()


@pytest.mark.behaviour("closing-keeps-continued-sessions")
def test_a_session_that_is_open_is_not_moved(tmp_path: Path) -> None:
    log = begin(location(tmp_path), "x")
    assert log.file is not None

    with pytest.raises(SessionInUse):
        move_session(log.file, cwd=THERE, directory=tmp_path / "there")

    assert log.file.exists()
    assert tree(tmp_path / "there") == {}
    log.close()


def test_a_move_overwrites_nothing(tmp_path: Path) -> None:
    path = with_artifacts(tmp_path)
    for existing_name in (path.name, path.stem):
        there = tmp_path / existing_name
        there.mkdir()
        (there / existing_name).mkdir()
        before = tree(tmp_path)

        with pytest.raises(SessionProblem, match="already has a session with that name"):
            move_session(path, cwd=THERE, directory=there)

        assert tree(tmp_path) == before


def test_a_session_is_not_moved_when_its_artifacts_cannot_be_moved(tmp_path: Path) -> None:
    path = with_artifacts(tmp_path)
    before = tree(path.parent)

    with pytest.raises(FileAccessError):  # a directory cannot be moved into itself
        move_session(path, cwd=THERE, directory=artifact_directory(path))

    assert tree(path.parent) == before


def test_a_move_is_rolled_back_when_the_old_file_cannot_be_removed(tmp_path: Path) -> None:
    path = with_artifacts(tmp_path)
    before, there = tree(path.parent), tmp_path / "there"

    class Stubborn(type(path)):  # type: ignore[misc]
        """A file that cannot be removed by any user: tests may run as root."""

        def unlink(self, missing_ok: bool = False) -> None:
            raise PermissionError(13, "Permission denied")

    with pytest.raises(FileAccessError, match=r"Permission denied.*") as error:
        move_session(Stubborn(path), cwd=THERE, directory=there)

    assert error.value.hint == "The session was not moved."
    assert tree(path.parent) == before
    assert tree(there) == {}
    open_session(path, location(tmp_path)).close()


def test_relocating_to_the_same_directory_changes_nothing() -> None:
    lines = [b"junk\n", b'{ "type":"session","id":"a", "cwd":"/x","more":1}\n', b'{"torn']

    assert relocated(lines, Path("s"), "/x") == b"".join(lines)
    assert relocated(lines, Path("s"), "/y") == (
        b'junk\n{"type":"session","id":"a","cwd":"/y","more":1}\n{"torn'
    )


def test_only_sessions_are_moved(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("{}\n")

    with pytest.raises(NotASession):
        move_session(tmp_path / "notes.jsonl", cwd=HERE, directory=tmp_path / "there")
    with pytest.raises(SessionNotFound):
        move_session(tmp_path / "none.jsonl", cwd=HERE, directory=tmp_path / "there")

    assert tree(tmp_path) == {"notes.jsonl": b"{}\n"}
