from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.agent.tools.tool import ToolFailed
from pi.coding.tools.listing import require_readable
from tests.coding.files.unprivileged import unprivileged_folder
from tests.coding.tools.places import make, use


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    with unprivileged_folder() as folder:
        yield folder


def test_files_and_folders_that_may_be_read_are_searched(tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    require_readable(tmp_path)
    require_readable(tmp_path / "f")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "EACCES: permission denied, scandir '{}/folder'"),
        ("file", "EACCES: permission denied, open '{}/file'"),
        ("pipe", "Cannot search {}/pipe: it is a device or a pipe, not a regular file."),
    ],
)
def test_an_unreadable_path_is_an_error(unprivileged: Path, name: str, message: str) -> None:
    (unprivileged / "folder").mkdir(mode=0)
    (unprivileged / "file").touch(mode=0)
    os.mkfifo(unprivileged / "pipe")

    with pytest.raises(ToolFailed) as failed:
        require_readable(unprivileged / name)

    assert failed.value.message == message.format(unprivileged)


async def test_grep_and_find_report_an_unreadable_folder(
    unprivileged: Path,
) -> None:
    (unprivileged / "folder").mkdir(mode=0)

    for tool in ("grep", "find"):
        with pytest.raises(ToolFailed, match="permission denied, scandir"):
            await use(make(unprivileged, tool), pattern="x", path="folder")


async def test_an_overlong_name_is_reported_as_missing(tmp_path: Path) -> None:
    for tool, message in (("grep", "Path not found"), ("find", "is not a directory")):
        with pytest.raises(ToolFailed, match=message):
            await use(make(tmp_path, tool), pattern="x", path="x" * 300)
    with pytest.raises(ToolFailed, match="Path not found"):
        await use(make(tmp_path, "ls"), path="x" * 300)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the folder /proc of Linux")
@pytest.mark.parametrize("is_linked", [False, True])
async def test_links_of_proc_lead_where_they_lead_in_pi(tmp_path: Path, is_linked: bool) -> None:
    (tmp_path / "found").mkdir()
    (tmp_path / "found/file.txt").write_text("x\n")
    descriptor = os.open(tmp_path / "found", os.O_RDONLY)
    path = Path(f"/proc/self/fd/{descriptor}")
    if is_linked:
        (tmp_path / "link").symlink_to(path)
        (tmp_path / "relative").symlink_to("link")
        path = tmp_path / "relative"
    try:
        grep_result = await use(make(tmp_path, "grep"), pattern="x", path=str(path))
        find_result = await use(make(tmp_path, "find"), pattern="*.txt", path=str(path))
    finally:
        os.close(descriptor)

    assert "file.txt:1: x" in str(grep_result.content)
    assert "file.txt" in str(find_result.content)
