from __future__ import annotations

from pathlib import Path

from pi.coding.resources.folders import (
    entries_of,
    is_file,
    is_folder,
    is_there,
    repository_of,
    theme_files,
)
from tests.coding.files.nobody import locked_folder
from tests.files import put


def test_what_lies_in_a_folder_comes_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "c/d.md"):
        put(tmp_path / name, "")

    assert [path.name for path in entries_of(tmp_path)] == ["a.md", "b.md", "c"]
    assert entries_of(tmp_path / "a.md") == entries_of(tmp_path / "gone") == []


def test_the_nearest_repository_counts(tmp_path: Path) -> None:
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


def test_what_lies_in_a_locked_folder_is_not_there() -> None:
    with locked_folder() as locked:
        file = locked / "file"

        assert (is_there(file), is_file(file), entries_of(locked)) == (False, False, [])
        assert (is_there(locked), is_file(locked), is_folder(locked)) == (True, False, True)
