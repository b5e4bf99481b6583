from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pi.base.files import (
    FileAccessError,
    agent_directory,
    expand_home,
    is_special_file,
    open_private,
    open_regular,
    private_directory,
    read_if_exists,
    read_regular,
    replace_file,
    replace_files,
)
from pi.base.locks import DirectoryLock, FileLock
from tests.files import full_disk, mode_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, owners and links of POSIX")


@posix
def test_pipes_and_devices_may_never_end(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    names = ("file", "pipe", "link", "gone", ".", "/dev/null")

    found = [is_special_file(tmp_path / name) for name in names]

    assert found == [False, True, True, False, False, True]


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


# Reading and directories


def test_reading_a_missing_file_returns_none_and_an_unreadable_one_raises(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x\r\n")

    names = ("there", "not there", "there/below")
    assert [read_if_exists(tmp_path / name) for name in names] == [b"x\r\n", None, None]
    with pytest.raises(FileAccessError, match=rf"Cannot read {tmp_path}: Is a directory\."):
        read_if_exists(tmp_path)


@posix
def test_a_new_directory_and_its_parents_are_private_and_an_old_one_keeps_its_mode(
    tmp_path: Path,
) -> None:
    old, new = tmp_path, tmp_path / "a" / "b"
    old.chmod(0o750)
    with umask(0):
        assert [private_directory(old), private_directory(new)] == [old, new]

    assert [mode_of(path) for path in (old, new.parent, new)] == [0o750, 0o700, 0o700]


def test_a_file_in_the_place_of_a_directory_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(FileAccessError, match="as a directory: there is a file of that name"):
        private_directory(file)
    with pytest.raises(FileAccessError, match=r"Cannot create the directory .*: Not a directory\."):
        private_directory(file / "below")


# Replacing


def test_a_file_is_created_and_replaced_without_leaving_temporary_files(tmp_path: Path) -> None:
    file = tmp_path / "file"

    seen = []
    for data in (b"one\n", b"", b"\x00\r\n\xff" * 100_000):
        replace_file(file, data)
        seen.append(file.read_bytes())

    assert seen == [b"one\n", b"", b"\x00\r\n\xff" * 100_000]
    assert list(tmp_path.iterdir()) == [file]


@posix
def test_a_new_file_is_private_unless_the_umask_is_to_decide(tmp_path: Path) -> None:
    with umask(0o027):
        replace_file(tmp_path / "plain", b"x", mode=None)
        replace_file(tmp_path / "private", b"x")
        replace_file(tmp_path / "program", b"x", mode=0o755)

    modes = {file.name: mode_of(file) for file in tmp_path.iterdir()}
    assert modes == {"plain": 0o640, "private": 0o600, "program": 0o755}


@posix
@pytest.mark.behaviour("credential-files-are-private")
def test_a_later_write_keeps_the_mode_that_the_user_has_set(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    modes = []
    for mode in (0o400, 0o640, 0o4755):
        replace_file(file, b"secret", mode=0o600)
        file.chmod(mode)
        replace_file(file, b"new secret", mode=0o600)
        modes.append(mode_of(file))

    assert modes == [0o400, 0o640, 0o4755]


@posix
def test_group_and_others_lose_the_right_to_write_a_private_file(tmp_path: Path) -> None:
    private, of_user = tmp_path / "trust.json", tmp_path / "notes.txt"
    for file in (private, of_user):
        file.write_bytes(b"old")
        file.chmod(0o666)
    replace_file(private, b"new")
    replace_file(of_user, b"new", mode=None)

    assert (mode_of(private), mode_of(of_user)) == (0o644, 0o666)


@posix
def test_log_files_and_locks_are_private_under_any_umask(tmp_path: Path) -> None:
    with umask(0):
        with open(tmp_path / "pi.log", "a", opener=open_private):
            pass
        with DirectoryLock(tmp_path / "settings.json"), FileLock(tmp_path / "lock"):
            modes = {file.name: mode_of(file) for file in tmp_path.iterdir()}

    assert modes == {"pi.log": 0o600, "settings.json.lock": 0o700, "lock": 0o600}


@posix
@pytest.mark.behaviour("credential-files-are-private")
def test_a_private_file_is_never_readable_by_others_while_it_is_written(tmp_path: Path) -> None:
    seen: set[int] = set()

    def look(frame: FrameType, event: str, argument: Any) -> None:
        sys.setprofile(None)
        seen.update(mode_of(file) for file in tmp_path.iterdir())
        sys.setprofile(look)

    with umask(0):
        sys.setprofile(look)  # called before and after every function, also those of the system
        try:
            replace_file(tmp_path / "auth.json", b"secret", mode=0o600)
        finally:
            sys.setprofile(None)

    assert seen == {0o600}


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_the_owner_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    os.chown(file, 12345, 23456)

    replace_file(file, b"new")

    found = file.stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)


@posix
def test_writing_through_a_symbolic_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "settings.json"
    link = tmp_path / "settings.json"
    link.symlink_to("dotfiles/settings.json")

    written = []
    for data in (b"created through the link", b"changed through the link"):
        replace_file(link, data)
        written.append(real.read_bytes())

    assert link.is_symlink()
    assert written == [b"created through the link", b"changed through the link"]


@posix
def test_a_write_that_fails_keeps_the_old_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with full_disk(1000), pytest.raises(FileAccessError) as caught:
        replace_file(file, b"x" * 100_000)

    assert caught.value.message == f"Cannot write {file}: File too large."
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_a_path_that_is_not_a_regular_file_is_not_replaced(tmp_path: Path) -> None:
    missing = tmp_path / "no directory" / "file"
    problems = []
    for path in (tmp_path, Path(os.devnull), missing):
        with pytest.raises(FileAccessError) as caught:
            replace_file(path, b"x")
        problems.append(caught.value.explain())

    assert problems == [
        f"Cannot write {tmp_path}: it is not a regular file.",
        f"Cannot write {os.devnull}: it is not a regular file.",
        f"Cannot write {missing}: No such file or directory. Create its directory first.",
    ]


@posix
def test_a_symbolic_link_loop_is_reported_and_the_longest_name_is_written(tmp_path: Path) -> None:
    loop, longest = tmp_path / "loop", tmp_path / ("n" * 255)
    loop.symlink_to(loop)

    with pytest.raises(FileAccessError, match="Too many levels of symbolic links"):
        replace_file(loop, b"x")
    replace_file(longest, b"x")

    assert longest.read_bytes() == b"x"


def test_an_unknown_users_home_is_a_clear_error() -> None:
    with pytest.raises(FileAccessError) as caught:
        expand_home("~no-such-user/sessions")

    assert caught.value.explain() == (
        "Cannot use the path ~no-such-user/sessions: there is no home directory for"
        " ~no-such-user. Write the whole path."
    )
    with pytest.raises(FileAccessError, match="it holds a zero byte"):
        expand_home("a\0b")
    assert expand_home("~no-such-user", strict=False) == Path("~no-such-user")


def test_a_regular_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 1000)

    assert read_regular(path, max_bytes=1000) == b"x" * 1000
    with pytest.raises(OSError, match="it is larger than 999 bytes"):
        read_regular(path, max_bytes=999)
    with pytest.raises(FileAccessError, match=r"Cannot read .*f: it is larger than 999 bytes\."):
        read_if_exists(path, max_bytes=999)
    with path.open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    with pytest.raises(OSError, match="it is larger than 4 MiB"):  # unless another limit is given
        read_regular(path)
    assert read_if_exists(tmp_path / "gone") is None


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_with_a_reported_size_of_0_is_read() -> None:
    assert b"VmPeak" in read_regular(Path("/proc/self/status"))
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_regular(Path("/proc/self/status"), max_bytes=10)


@posix
def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")

    for name in ("pipe", "endless"):
        for read in (read_regular, open_regular):
            with pytest.raises(OSError, match="it is a device or a pipe, not a regular file"):
                read(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.pi/agent"),
        ({"HOME": "/home/ada", "PI_CONFIG_DIR": ".other"}, "/home/ada/.other/agent"),
        ({"HOME": "/home/ada", "PI_CONFIG_DIR": "/elsewhere"}, "/elsewhere/agent"),
        ({"HOME": "/home/ada", "PI_CODING_AGENT_DIR": "/agent"}, "/agent"),
    ],
)
def test_the_agent_directory_follows_the_environment(
    environ: dict[str, str], expected: str
) -> None:
    assert agent_directory(environ) == Path(expected)


@posix
def test_many_files_get_their_modes_and_replace_links(tmp_path: Path) -> None:
    old, new, link = tmp_path / "old", tmp_path / "new", tmp_path / "link"
    old.write_text("1")
    old.chmod(0o600)
    link.symlink_to("old")
    replace_files({old: b"2", new: b"3", link: b"4"}, modes={old: 0o755, new: 0o640, link: 0o600})

    assert [path.read_bytes() for path in (old, new, link)] == [b"2", b"3", b"4"]
    assert not link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, new, old]
    assert [mode_of(path) for path in (old, new, link)] == [0o755, 0o640, 0o600]
