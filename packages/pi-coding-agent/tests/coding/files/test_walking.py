from __future__ import annotations

import threading
from pathlib import Path

from pi.coding.tools.listing import WalkedFile, walk


def nothing(entry: WalkedFile) -> bool:
    return False


def found(root: Path, stop: threading.Event | None = None) -> list[str]:
    entries = walk(root, ignores=nothing, stop=stop or threading.Event())
    return [f"{entry.path}{'/' * entry.is_folder}{'@' * entry.is_link}" for entry in entries]


def test_a_walk_is_in_order_and_ends_at_link_loops(tmp_path: Path) -> None:
    (tmp_path / "b/c").mkdir(parents=True)
    (tmp_path / "b/c/f").touch()
    (tmp_path / "a").touch()
    (tmp_path / "b/loop").symlink_to("..", target_is_directory=True)

    assert found(tmp_path) == ["a", "b/", "b/c/", "b/loop@", "b/c/f"]


def test_a_walk_without_files_yields_folders_and_links(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/f").touch()
    (tmp_path / "a/link").symlink_to("f")
    entries = walk(tmp_path, ignores=nothing, stop=threading.Event(), files=False)

    assert [entry.path for entry in entries] == ["a", "a/b", "a/link"]


def test_ignored_folders_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "skip/inner").mkdir(parents=True)
    (tmp_path / "keep").mkdir()
    entries = walk(tmp_path, ignores=lambda entry: entry.path == "skip", stop=threading.Event())

    assert [entry.path for entry in entries] == ["keep"]


def test_a_walk_can_be_stopped_and_skips_missing_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    stop = threading.Event()
    stop.set()

    assert found(tmp_path, stop) == []
    assert found(tmp_path / "gone") == []
