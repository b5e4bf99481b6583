from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pi.agent.env import FileFailed
from pi.base.records import replace
from pi.coding.files.layers import (
    FileChange,
    FileLayer,
    FileWrite,
    FileWritten,
    writing_for,
)
from pi.coding.files.local import LocalFiles


def files(folder: Path, *layers: FileLayer) -> LocalFiles:
    return LocalFiles(lambda: folder, home=str(folder), layers=lambda: layers)


async def test_a_layer_receives_and_can_change_the_written_content(tmp_path: Path) -> None:
    seen: list[FileChange] = []
    (tmp_path / "a.txt").write_bytes(b"old")

    async def shout(change: FileChange, write: FileWrite) -> FileWritten:
        seen.append(change)
        louder = replace(change, after=(change.after or b"").upper())
        await write(louder)
        return FileWritten(notes=("louder",), details={"n": 1})

    local = files(tmp_path, shout)
    with writing_for("call 1") as writing:
        await local.write_file("a.txt", b"new")
    await local.write_file("b.txt", b"new")

    assert (tmp_path / "a.txt").read_bytes() == b"NEW"
    assert [(change.path.name, change.before, change.after, change.call_id) for change in seen] == [
        ("a.txt", b"old", b"new", "call 1"),
        ("b.txt", None, b"new", ""),
    ]
    assert writing.written == [FileWritten(notes=("louder",), details={"n": 1})]


async def test_the_first_layer_is_outermost(tmp_path: Path) -> None:
    order: list[str] = []

    def layer(name: str) -> FileLayer:
        async def through(change: FileChange, write: FileWrite) -> FileWritten:
            order.append(f"before {name}")
            written = await write(change)
            order.append(f"after {name}")
            return written

        return through

    await files(tmp_path, layer("a"), layer("b")).write_file("x", b"")

    assert order == ["before a", "before b", "after b", "after a"]


async def test_a_layer_that_raises_forbids_the_write(tmp_path: Path) -> None:
    async def guard(change: FileChange, write: FileWrite) -> FileWritten:
        raise PermissionError("not in plan mode")

    with pytest.raises(PermissionError):
        await files(tmp_path, guard).write_file("x", b"")

    assert not (tmp_path / "x").exists()


class Recorder:
    """A layer that records changes, and refuses those of some names."""

    def __init__(self, *refused: str) -> None:
        self.seen: list[tuple[str, bytes | None, bytes | None, int | None]] = []
        self._refused = refused

    async def __call__(self, change: FileChange, write: FileWrite) -> FileWritten:
        name = change.path.name
        self.seen.append((name, change.before, change.after, change.old_mode))
        if name in self._refused:
            raise PermissionError(name)
        return await write(change)


def make_tree(folder: Path) -> None:
    (folder / "d/inner").mkdir(parents=True)
    (folder / "d/a").write_bytes(b"A")
    (folder / "d/a").chmod(0o755)
    (folder / "d/inner/b").write_bytes(b"B")
    (folder / "d/link").symlink_to("/nowhere")


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def test_a_removal_is_a_change_without_content(tmp_path: Path) -> None:
    make_tree(tmp_path)
    recorder = Recorder()
    local = files(tmp_path, recorder)

    with pytest.raises(FileFailed, match="not empty"):
        await local.remove("d")
    with pytest.raises(FileFailed, match="No such file"):
        await local.remove("gone")
    assert recorder.seen == []
    await local.remove("d", recursive=True)

    assert recorder.seen == [
        ("a", b"A", None, 0o755),
        ("b", b"B", None, (0o666 & ~current_umask())),
        ("inner", None, None, None),
        ("link", None, None, None),
        ("d", None, None, None),
    ]
    assert tree(tmp_path) == []


async def test_a_layer_that_raises_forbids_the_removal(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A")

    with pytest.raises(PermissionError):
        await files(tmp_path, Recorder("a")).remove("a")

    assert tree(tmp_path) == ["a"]


async def test_a_move_is_a_removal_and_a_write(tmp_path: Path) -> None:
    make_tree(tmp_path)
    inode = (tmp_path / "d/a").stat().st_ino
    recorder = Recorder()
    local = files(tmp_path, recorder)

    await local.move("d", "new/e")

    assert tree(tmp_path) == ["new", "new/e", "new/e/a", "new/e/inner", "new/e/inner/b",
                              "new/e/link"]  # fmt: skip
    assert recorder.seen[:2] == [("a", b"A", None, 0o755), ("a", None, b"A", None)]
    assert (tmp_path / "new/e/a").stat().st_ino == inode
    with pytest.raises(FileFailed, match="exists"):
        await local.move("new/e/a", "new/e/inner/b")
    await local.move("new/e/a", "new/e/inner/b", overwrite=True)
    assert recorder.seen[-1] == ("b", b"B", b"A", 0o666 & ~current_umask())
    assert (tmp_path / "new/e/inner/b").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("refused", ["a", "b"])
async def test_nothing_is_moved_if_a_layer_forbids_one_side(tmp_path: Path, refused: str) -> None:
    (tmp_path / "a").write_bytes(b"A")

    with pytest.raises(PermissionError):
        await files(tmp_path, Recorder(refused)).move("a", "b")

    assert tree(tmp_path) == ["a"]


async def test_a_layer_may_change_the_moved_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A")

    async def lower(change: FileChange, write: FileWrite) -> FileWritten:
        after = None if change.after is None else change.after.lower()
        return await write(replace(change, after=after))

    await files(tmp_path, lower).move("a", "b")

    assert (tmp_path / "b").read_bytes() == b"a"
    assert tree(tmp_path) == ["b"]


@pytest.mark.parametrize("layers", [(), (Recorder(),)])
async def test_moves_are_the_same_without_layers(tmp_path: Path, layers: Any) -> None:
    make_tree(tmp_path)
    local = files(tmp_path, *layers)

    await local.move("d/inner/b", "x/y")
    await local.move("d", "e")
    with pytest.raises(FileFailed, match="into itself"):
        await local.move("e", "e/f")
    with pytest.raises(FileFailed, match="exists"):
        await local.move("x", "e", overwrite=True)

    assert tree(tmp_path) == ["e", "e/a", "e/inner", "e/link", "x", "x/y"]


@pytest.mark.parametrize("layers", [(), (Recorder(),)])
async def test_a_write_may_set_the_mode(tmp_path: Path, layers: Any) -> None:
    local = files(tmp_path, *layers)

    await local.write_file("new", b"1", mode=0o700)
    await local.write_file("new", b"2")
    default_mode = (tmp_path / "new").stat().st_mode & 0o777
    await local.write_file("new", b"3", mode=0o640)

    assert (default_mode, (tmp_path / "new").stat().st_mode & 0o777) == (0o700, 0o640)


async def test_a_scan_shows_what_changed(tmp_path: Path) -> None:
    make_tree(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/index").touch()
    local = files(tmp_path)

    before = await local.scan()
    (tmp_path / "d/a").write_bytes(b"AA")
    (tmp_path / "d/inner/b").unlink()
    (tmp_path / "c").touch()
    after = await local.scan(".")

    assert list(before) == ["d/a", "d/inner/b", "d/link"]
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {"d/a", "d/inner/b", "c"}
    assert list(await local.scan("d", skip=lambda path: path in {"inner/", "link"})) == ["a"]
    with pytest.raises(FileFailed, match="more than 2 files"):
        await local.scan(most=2)
    with pytest.raises(FileFailed, match="No such file"):
        await local.scan("nowhere")


async def test_many_files_are_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A")
    (tmp_path / "large").write_bytes(b"x" * 100)

    contents = await files(tmp_path).read_many(["a", "gone", "large", "."], most=10)

    codes = {name: getattr(value, "code", value) for name, value in contents.items()}
    assert codes == {"a": b"A", "gone": "not_found", "large": "unknown", ".": "is_a_directory"}


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


async def test_the_text_of_a_file_open_in_an_editor_is_preferred_to_the_disk(
    tmp_path: Path,
) -> None:
    texts = {"open.txt": "unsaved"}

    async def read(path: Path) -> str | None:
        return texts.get(path.name)

    (tmp_path / "open.txt").write_text("saved")
    (tmp_path / "other.txt").write_text("other")
    files = LocalFiles(lambda: tmp_path, home=str(tmp_path), reads=lambda: [read])

    assert await files.read_file("open.txt") == b"unsaved"
    assert await files.read_file("other.txt") == b"other"
    assert await files.read_open("other.txt") is None
