from __future__ import annotations

import os
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from pi.agent.env import FileErrorCode, FileFailed, FileInfo, FileSystem
from pi.coding.files.local import LocalFiles
from tests.coding.files.unprivileged import unprivileged_folder
from tests.files import full_disk


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(lambda: tmp_path, home=str(tmp_path / "home"))


def is_a_file_system(files: LocalFiles) -> FileSystem:
    return files


# Resolving paths ---------------------------------------------------------------------------------


@pytest.mark.behaviour("path-spellings-resolve")
def test_references_are_resolved_from_the_sessions_folder(
    files: LocalFiles, tmp_path: Path
) -> None:
    assert [
        files.resolve(reference)
        for reference in ("a", "@a", "~/a", "/x/../y", "b/./c/../d", f"file://{tmp_path}/a%20b")
    ] == [
        tmp_path / "a",
        tmp_path / "a",
        tmp_path / "home/a",
        Path("/y"),
        tmp_path / "b/d",
        tmp_path / "a b",
    ]


def test_an_at_sign_stays_if_only_a_file_with_it_exists(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "@types").mkdir()
    (tmp_path / "@both").touch()
    (tmp_path / "both").touch()

    assert files.resolve("@types") == tmp_path / "@types"
    assert files.resolve("@both") == tmp_path / "both"


@pytest.mark.behaviour("tools-use-the-session-cwd")
async def test_paths_follow_the_folder_of_the_session_and_not_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path)
    cwds = [tmp_path / "one"]
    files = LocalFiles(lambda: cwds[0], home="/")

    await files.write_file("f", b"1")
    cwds[0] = tmp_path / "two"
    await files.write_file("f", b"2")

    assert [(tmp_path / name / "f").read_bytes() for name in ("one", "two")] == [b"1", b"2"]
    assert files.cwd == str(tmp_path / "two")


@pytest.mark.behaviour("edits-are-serialised")
def test_all_paths_of_a_file_resolve_to_the_same_real_path(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/f").touch()
    (tmp_path / "link").symlink_to("real", target_is_directory=True)

    assert {files.real(name) for name in ("real/f", "link/f", "@real/../link/f")} == {
        str(tmp_path / "real/f")
    }


# Reading and writing -----------------------------------------------------------------------------


async def test_a_file_is_written_with_the_folders_above_it(
    files: LocalFiles, tmp_path: Path
) -> None:
    await files.write_file("a/b/c.txt", b"one")
    await files.write_file(str(tmp_path / "a/b/c.txt"), b"two")

    assert await files.read_file("a/b/c.txt") == b"two"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
async def test_a_file_keeps_its_mode_and_a_link_stays_a_link(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o751)
    (tmp_path / "link").symlink_to("run.sh")

    await files.write_file("link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "run.sh").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o751


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    with unprivileged_folder() as folder:
        yield folder


async def test_a_protected_file_is_not_replaced(unprivileged: Path) -> None:
    file = unprivileged / "f"
    file.write_text("old")
    file.chmod(0o444)

    with pytest.raises(FileFailed) as failed:
        await LocalFiles(lambda: unprivileged, home="/").write_file("f", b"new")

    assert (failed.value.error.code, file.read_text()) == ("permission_denied", "old")


async def test_pipes_and_devices_are_not_read(files: LocalFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in ("pipe", "/dev/zero"):
        with pytest.raises(FileFailed, match="it is a device or a pipe, not a regular file"):
            await files.read_file(path)


async def test_a_file_in_a_read_only_folder_is_written_in_place(unprivileged: Path) -> None:
    file = unprivileged / "closed/f"
    file.parent.mkdir()
    file.write_text("old")
    file.parent.chmod(0o555)
    try:
        await LocalFiles(lambda: unprivileged, home="/").write_file("closed/f", b"new")
    finally:
        file.parent.chmod(0o755)

    assert file.read_text() == "new"


async def test_a_full_disk_leaves_a_file_in_a_read_only_folder_unchanged(
    unprivileged: Path,
) -> None:
    file = unprivileged / "closed/f"
    file.parent.mkdir()
    file.write_text("old content")
    file.parent.chmod(0o555)
    try:
        with full_disk(50), pytest.raises(FileFailed):
            await LocalFiles(lambda: unprivileged, home="/").write_file("closed/f", b"new" * 100)
    finally:
        file.parent.chmod(0o755)

    assert file.read_text() == "old content"


@pytest.mark.parametrize("new", [b"", b"short", b"longer than it was before"])
async def test_a_write_is_visible_through_every_hard_link(
    files: LocalFiles, tmp_path: Path, new: bytes
) -> None:
    (tmp_path / "one").write_text("old content")
    (tmp_path / "two").hardlink_to(tmp_path / "one")

    await files.write_file("one", new)

    assert (tmp_path / "two").read_bytes() == new
    assert (tmp_path / "two").samefile(tmp_path / "one")


async def test_a_full_disk_leaves_a_file_with_hard_links_unchanged(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("old content")
    (tmp_path / "two").hardlink_to(tmp_path / "one")

    with full_disk(50), pytest.raises(FileFailed):
        await files.write_file("one", b"new" * 100)

    assert (tmp_path / "two").read_text() == "old content"


@pytest.mark.skipif(sys.platform != "linux", reason="extended attributes of Linux")
async def test_a_file_keeps_its_extended_attributes(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    try:
        os.setxattr(tmp_path / "f", "user.origin", b"somewhere")
    except OSError:
        pytest.skip("this file system has no extended attributes")

    await files.write_file("f", b"new")

    assert os.getxattr(tmp_path / "f", "user.origin") == b"somewhere"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
async def test_writing_to_a_device_is_rejected(files: LocalFiles) -> None:
    with pytest.raises(FileFailed, match="not a regular file"):
        await files.write_file("/dev/full", b"x")


async def test_files_and_folders_are_described(files: LocalFiles, tmp_path: Path) -> None:
    await files.write_file("b.txt", b"12345")
    await files.mkdir("a")
    await files.mkdir("a")
    os.utime(tmp_path / "b.txt", ns=(0, 1_700_000_000_123_000_000))
    (tmp_path / "broken").symlink_to("nowhere")

    assert await files.stat("a/../b.txt") == FileInfo(
        name="b.txt",
        path=str(tmp_path / "b.txt"),
        kind="file",
        size=5,
        modified_ms=1_700_000_000_123,
    )
    assert [(info.name, info.kind) for info in await files.list_dir("")] == [
        ("a", "directory"),
        ("b.txt", "file"),
        ("broken", "other"),
    ]
    assert await files.exists("broken")
    assert await files.real_path("a/../b.txt") == str(tmp_path / "b.txt")


async def test_links_are_followed_when_read_but_removed_as_links(
    files: LocalFiles, tmp_path: Path
) -> None:
    await files.write_file("folder/f", b"")
    (tmp_path / "link").symlink_to("folder", target_is_directory=True)

    assert (await files.stat("link")).kind == "directory"
    assert await files.real_path("link/missing") == str(tmp_path / "folder/missing")
    await files.remove("link", recursive=True)
    assert (await files.exists("link"), await files.exists("folder/f")) == (False, True)
    with pytest.raises(FileFailed) as failed:
        await files.remove("folder")
    await files.remove("folder", recursive=True)
    await files.mkdir("empty")
    await files.remove("empty")

    assert failed.value.error.code == "not_empty"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (lambda files: files.read_file("missing"), "not_found"),
        (lambda files: files.read_file("folder"), "is_a_directory"),
        (lambda files: files.write_file("folder", b""), "is_a_directory"),
        (lambda files: files.write_file("file/below", b""), "already_exists"),
        (lambda files: files.list_dir("file"), "not_a_directory"),
        (lambda files: files.stat("missing"), "not_found"),
        (lambda files: files.mkdir("file"), "already_exists"),
        (lambda files: files.remove("missing"), "not_found"),
        (lambda files: files.read_file("loop"), "invalid_path"),
        (lambda files: files.read_file("a\0b"), "invalid_path"),
        (lambda files: files.read_file("x" * 5000), "invalid_path"),
    ],
)
async def test_failures_have_an_error_code(
    files: LocalFiles,
    tmp_path: Path,
    attempt: Callable[[LocalFiles], Awaitable[object]],
    code: FileErrorCode,
) -> None:
    await files.mkdir("folder")
    await files.write_file("file", b"")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(FileFailed) as failed:
        await attempt(files)

    assert failed.value.error.code == code
    assert failed.value.error.path in failed.value.message.replace("\\x00", "\0")
