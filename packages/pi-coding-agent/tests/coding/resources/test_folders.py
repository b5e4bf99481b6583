from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from pi.coding.other_agents import repository_of
from pi.coding.resources import tolerant_files
from pi.coding.resources.tolerant_files import (
    entries_of,
    is_file,
    is_folder,
    path_exists,
    theme_files,
    walk_below,
)
from tests.coding.files.unprivileged import locked_folder
from tests.files import put


def test_entries_of_a_folder_are_sorted_by_name(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "c/d.md"):
        put(tmp_path / name, "")

    assert [path.name for path in entries_of(tmp_path)] == ["a.md", "b.md", "c"]
    assert entries_of(tmp_path / "a.md") == entries_of(tmp_path / "gone") == []


def test_the_nearest_repository_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    put(inner / "src" / "main.py", "")
    put(tmp_path / "outer" / ".git" / "HEAD", "")
    assert repository_of(inner / "src") == tmp_path / "outer"

    put(inner / ".git", "gitdir: elsewhere")
    assert repository_of(inner / "src") == repository_of(inner) == inner


def test_themes_are_the_json_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("dark.json", "README.md", "more.json/x"):
        put(tmp_path / name, "{}")

    assert list(theme_files(tmp_path)) == [tmp_path / "dark.json"]


def test_files_in_a_locked_folder_count_as_missing() -> None:
    with locked_folder() as locked:
        file = locked / "file"

        assert (path_exists(file), is_file(file), entries_of(locked)) == (False, False, [])
        assert (path_exists(locked), is_file(locked), is_folder(locked)) == (True, False, True)


def test_entries_of_a_very_large_folder_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tolerant_files, "MAX_ENTRIES", 3)
    for name in "abcd":
        put(tmp_path / name, "")

    with caplog.at_level(logging.WARNING, "pi"):
        assert len(entries_of(tmp_path)) == 3
    assert f"{tmp_path} has more than 3 entries" in caplog.text


def test_a_walk_visits_each_entry_once_and_follows_no_links(tmp_path: Path) -> None:
    put(tmp_path / "a/b/c", "")
    put(tmp_path / "node_modules/x", "")
    (tmp_path / "a/loop").symlink_to(tmp_path)

    walked = walk_below(tmp_path, enters=lambda path: path.name != "node_modules")

    names = [str(path.relative_to(tmp_path)) for path in walked]
    assert names == ["a", "a/b", "a/loop", "a/b/c"]


def test_a_walk_of_a_very_large_tree_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tolerant_files, "MAX_TREE_ENTRIES", 10)
    deep = tmp_path / "/".join("d" * 50)
    deep.mkdir(parents=True)

    with caplog.at_level(logging.WARNING, "pi"):
        assert len(list(walk_below(tmp_path))) == 10
    assert f"{tmp_path} holds more than 10 entries" in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_counts_as_a_file_so_that_reading_it_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert is_file(tmp_path / "pipe")
    assert not is_file(tmp_path)
