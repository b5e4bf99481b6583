from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.session.errors import SessionInUse, SessionNotFound
from pi.coding.session.opening import open_session
from pi.coding.session.trash import FOLDER, Trash
from pi.testing import FakeClock
from tests.coding.session.saved import begin, keep, location


def trash(agent_dir: Path, **environ: str) -> Trash:
    return Trash(agent_dir, environ, FakeClock())


def session_with_artifacts(agent_dir: Path) -> Path:
    path = keep(location(agent_dir), "x", id="abc")
    artifact_directory(path).mkdir()
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_without_a_desktop_a_session_is_moved_to_the_trash_folder_of_pi(
    tmp_path: Path,
) -> None:
    path = session_with_artifacts(tmp_path)
    content = path.read_bytes()

    await trash(tmp_path).delete(path)

    assert names(path.parent) == []
    assert names(tmp_path / FOLDER) == [path.stem, path.name]
    assert (tmp_path / FOLDER / path.name).read_bytes() == content


async def test_nothing_in_the_trash_is_overwritten(tmp_path: Path) -> None:
    first = keep(location(tmp_path), "first", id="abc")
    await trash(tmp_path).delete(first)
    second = keep(location(tmp_path), "second", id="abc")
    await trash(tmp_path).delete(second)

    assert names(tmp_path / FOLDER) == [f"{first.stem}.2.jsonl", first.name]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="other desktops")
async def test_a_session_is_moved_to_the_trash_of_the_desktop(tmp_path: Path) -> None:
    desktop = tmp_path / "home" / ".local/share/Trash"
    paths = [keep(location(tmp_path / "an agent"), text, id="abc") for text in ("first",)]
    await trash(tmp_path, HOME=str(tmp_path / "home")).delete(paths[0])
    paths.append(session_with_artifacts(tmp_path / "an agent"))
    await trash(tmp_path, XDG_DATA_HOME=str(desktop.parent)).delete(paths[1])

    name, stem = paths[0].name, paths[0].stem
    assert names(desktop / "files") == [stem, f"{stem}.2.jsonl", name]
    assert names(desktop / "info") == [
        f"{stem}.2.jsonl.trashinfo",
        f"{name}.trashinfo",
        f"{stem}.trashinfo",
    ]
    note = (desktop / "info" / f"{name}.trashinfo").read_text().splitlines()
    assert note[:2] == ["[Trash Info]", f"Path={str(paths[0]).replace(' ', '%20')}"]
    assert note[2].startswith("DeletionDate=2023-11-1")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
@pytest.mark.parametrize("works", [True, False])
async def test_the_trash_command_is_tried_first_and_may_fail(tmp_path: Path, works: bool) -> None:
    path = session_with_artifacts(tmp_path)
    trash_folder = tmp_path / "taken"
    trash_folder.mkdir()
    command = tmp_path / "bin" / "trash"
    command.parent.mkdir()
    does = f'/bin/mv "$@" {trash_folder}/' if works else "exit 1"
    command.write_text(f"#!/bin/sh\n{does}\n")
    command.chmod(0o755)

    await trash(tmp_path, PATH=str(command.parent)).delete(path)

    there, empty = (trash_folder, tmp_path / FOLDER) if works else (tmp_path / FOLDER, trash_folder)
    assert names(there) == [path.stem, path.name]
    assert not empty.exists() or names(empty) == []
    assert names(path.parent) == []


@pytest.mark.behaviour("closing-keeps-continued-sessions")
async def test_a_session_that_another_terminal_continued_is_not_deleted(tmp_path: Path) -> None:
    mine = begin(location(tmp_path), "x")
    assert mine.file is not None
    mine.close()
    theirs = open_session(mine.file, location(tmp_path))

    with pytest.raises(SessionInUse):
        await trash(tmp_path).delete(mine.file)
    assert mine.file.exists()

    theirs.close()
    await trash(tmp_path).delete(mine.file)
    assert not mine.file.exists()


async def test_deleting_a_missing_session_raises(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound):
        await trash(tmp_path).delete(tmp_path / "none.jsonl")

    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="other desktops")
async def test_an_unusable_desktop_trash_falls_back_to_the_trash_folder_of_pi(
    tmp_path: Path,
) -> None:
    path = keep(location(tmp_path), "x")
    (tmp_path / "data").touch()

    await trash(tmp_path, XDG_DATA_HOME=str(tmp_path / "data")).delete(path)

    assert names(tmp_path / FOLDER) == [path.name]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="other desktops")
async def test_a_file_without_a_note_in_the_desktop_trash_is_not_overwritten(
    tmp_path: Path,
) -> None:
    path = keep(location(tmp_path), "x")
    stale = tmp_path / "Trash" / "files" / path.name
    stale.parent.mkdir(parents=True)
    stale.write_text("another program's")

    await trash(tmp_path, XDG_DATA_HOME=str(tmp_path)).delete(path)

    assert stale.read_text() == "another program's"
    assert names(stale.parent) == [f"{path.stem}.2.jsonl", path.name]
