from __future__ import annotations

from pathlib import Path

import pytest

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


async def test_a_layer_sees_and_changes_what_is_written(tmp_path: Path) -> None:
    seen: list[FileChange] = []
    (tmp_path / "a.txt").write_bytes(b"old")

    async def shout(change: FileChange, write: FileWrite) -> FileWritten:
        seen.append(change)
        louder = FileChange(path=change.path, before=change.before, after=change.after.upper())
        await write(louder)
        return FileWritten(notes=("louder",), details={"n": 1})

    local = files(tmp_path, shout)
    with writing_for("call 1") as writing:
        await local.write_file("a.txt", b"new")
    await local.write_file("b.txt", b"new")

    assert (tmp_path / "a.txt").read_bytes() == b"NEW"
    assert [(each.path.name, each.before, each.after, each.call_id) for each in seen] == [
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
