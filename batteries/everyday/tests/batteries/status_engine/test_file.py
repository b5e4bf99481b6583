from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.batteries.status_engine.sources import MAX_FILE_BYTES, Files, file_source, read_small
from pi.coding.files.local import LocalFiles


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return LocalFiles(lambda: tmp_path, home=str(tmp_path / "home"))


async def test_the_first_line_of_the_file_is_returned(tmp_path: Path, files: Files) -> None:
    ask = file_source("status", files)

    lines = [await ask(b"")]
    (tmp_path / "status").write_text("net ok \nmore\n")
    lines.append(await ask(b""))
    (tmp_path / "status").unlink()
    lines.append(await ask(b""))

    assert lines == ["", "net ok", ""]


async def test_a_file_in_the_home_folder_is_found(tmp_path: Path, files: Files) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "status").write_text("here")

    assert await file_source("~/status", files)(b"") == "here"


async def test_a_pipe_a_folder_and_a_huge_file_are_not_read(tmp_path: Path, files: Files) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "huge").write_bytes(b"x" * (MAX_FILE_BYTES + 1))

    assert [await read_small(files, name) for name in ("pipe", "folder", "huge")] == [None] * 3


async def test_an_impossible_file_name_returns_nothing(files: Files) -> None:
    assert await read_small(files, "a\0b") is None
