from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pi.base.files import (
    DirectoryLock,
    FileLock,
    FileProblem,
    LockedByAnother,
    may_never_end,
    private_directory,
    read_if_exists,
    replace_file,
)
from pi.testing import FakeClock

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, owners and links of POSIX")


@posix
def test_pipes_and_devices_may_never_end(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    names = ("file", "pipe", "link", "gone", ".", "/dev/null")

    found = [may_never_end(tmp_path / name) for name in names]

    assert found == [False, True, True, False, False, True]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


# Reading and directories


def test_a_missing_file_reads_as_none_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"x\r\n")

    names = ("there", "not there", "there/below")
    assert [read_if_exists(tmp_path / name) for name in names] == [b"x\r\n", None, None]
    with pytest.raises(FileProblem, match=rf"Cannot read {tmp_path}: Is a directory\."):
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

    with pytest.raises(FileProblem, match="as a directory: there is a file of that name"):
        private_directory(file)
    with pytest.raises(FileProblem, match=r"Cannot create the directory .*: Not a directory\."):
        private_directory(file / "below")


# Replacing


def test_a_file_is_created_and_replaced_with_nothing_left_beside(tmp_path: Path) -> None:
    file = tmp_path / "file"

    seen = []
    for data in (b"one\n", b"", b"\x00\r\n\xff" * 100_000):
        replace_file(file, data)
        seen.append(file.read_bytes())

    assert seen == [b"one\n", b"", b"\x00\r\n\xff" * 100_000]
    assert list(tmp_path.iterdir()) == [file]


@posix
def test_the_umask_decides_on_a_new_file_without_a_mode(tmp_path: Path) -> None:
    with umask(0o027):
        replace_file(tmp_path / "plain", b"x")
        replace_file(tmp_path / "private", b"x", mode=0o600)
        replace_file(tmp_path / "program", b"x", mode=0o755)

    modes = {file.name: mode_of(file) for file in tmp_path.iterdir()}
    assert modes == {"plain": 0o640, "private": 0o600, "program": 0o755}


@posix
@pytest.mark.trap(283)
def test_a_later_write_keeps_the_mode_that_somebody_has_set(tmp_path: Path) -> None:
    file = tmp_path / "auth.json"
    modes = []
    for mode in (0o400, 0o640, 0o4755):
        replace_file(file, b"secret", mode=0o600)
        file.chmod(mode)
        replace_file(file, b"new secret", mode=0o600)
        modes.append(mode_of(file))

    assert modes == [0o400, 0o640, 0o4755]


@posix
@pytest.mark.trap(283)
def test_a_private_file_is_at_no_moment_open_to_others(tmp_path: Path) -> None:
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
def test_links_stay_links(tmp_path: Path) -> None:
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
def test_a_write_that_fails_leaves_the_old_file_whole_and_nothing_beside(tmp_path: Path) -> None:
    import resource

    file = tmp_path / "file"
    file.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # as if the disk were full
    try:
        with pytest.raises(FileProblem) as caught:
            replace_file(file, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert caught.value.message == f"Cannot write {file}: File too large."
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    missing = tmp_path / "no directory" / "file"
    problems = []
    for path in (tmp_path, Path(os.devnull), missing):
        with pytest.raises(FileProblem) as caught:
            replace_file(path, b"x")
        problems.append(caught.value.explain())

    assert problems == [
        f"Cannot write {tmp_path}: it is not a regular file.",
        f"Cannot write {os.devnull}: it is not a regular file.",
        f"Cannot write {missing}: No such file or directory. Create its directory first.",
    ]


@posix
def test_a_loop_of_links_and_the_longest_of_names_are_no_surprise(tmp_path: Path) -> None:
    loop, longest = tmp_path / "loop", tmp_path / ("n" * 255)
    loop.symlink_to(loop)

    with pytest.raises(FileProblem, match="Too many levels of symbolic links"):
        replace_file(loop, b"x")
    replace_file(longest, b"x")

    assert longest.read_bytes() == b"x"


# Locks of our own files


def test_a_file_lock_keeps_others_out_until_it_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    with FileLock(path), pytest.raises(LockedByAnother) as caught, FileLock(path):
        pass
    with FileLock(path, wait=1.0):
        pass

    assert caught.value.message == f"{path} is locked by another program."


def test_a_file_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import pathlib, sys; from pi.base.files import FileLock\n"
        "with FileLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(LockedByAnother), FileLock(path):
            pass
        holder.kill()
        holder.wait()

    with FileLock(path):
        pass


async def test_waiting_for_a_file_lock_does_not_block_others(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "lock"
    order: list[str] = []

    async def second() -> None:
        async with FileLock(path, wait=5.0, clock=clock):
            order.append("second")

    async with asyncio.TaskGroup() as tasks:
        async with FileLock(path):
            tasks.create_task(second())
            await clock.advance(1)
            order.append("first")
        await clock.advance(1)

    assert order == ["first", "second"]


def test_a_lock_in_a_missing_directory_is_reported(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    reason = f"{missing}: No such file or directory. Create its directory first."

    with pytest.raises(FileProblem) as own, FileLock(missing):
        pass
    with pytest.raises(FileProblem) as shared, DirectoryLock(missing):
        pass

    assert own.value.explain() == f"Cannot create the lock {reason}"
    assert shared.value.explain() == f"Cannot lock {reason}"


# Locks of files that another program writes too


def test_a_directory_lock_is_a_directory_beside_the_real_file(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / "settings.json"
    file.symlink_to("dotfiles/settings.json")
    lock = tmp_path / "dotfiles" / "settings.json.lock"

    with DirectoryLock(file) as held:
        assert lock.is_dir()
        held.check()
    assert not lock.exists()


def test_a_directory_lock_says_who_is_in_the_way(tmp_path: Path) -> None:
    clock = FakeClock()
    file = tmp_path / "auth.json"

    with (
        DirectoryLock(file, clock=clock),
        pytest.raises(LockedByAnother) as caught,
        DirectoryLock(file, clock=clock, wait=0.01),
    ):
        pass

    assert caught.value.explain() == (
        f"{file} is locked by another program: {file}.lock was refreshed 0.0 seconds ago."
        " Try again when that one has finished; if none runs, remove that directory."
    )


async def test_waiting_for_a_directory_lock_is_bounded(tmp_path: Path) -> None:
    clock = FakeClock()
    async with DirectoryLock(tmp_path / "file", clock=clock), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(refused(DirectoryLock(tmp_path / "file", clock=clock, wait=9)))
        await clock.advance(8.9)
        assert not waiting.done()
        await clock.advance(0.2)
        assert waiting.done()


async def refused(lock: DirectoryLock) -> None:
    with pytest.raises(LockedByAnother):
        async with lock:
            pass


async def test_a_lock_is_refreshed_while_it_is_held(tmp_path: Path) -> None:
    clock = FakeClock()
    lock = tmp_path / "file.lock"
    ages = []

    async with DirectoryLock(tmp_path / "file", clock=clock) as held:
        for _ in range(5):
            await clock.advance(7)
            ages.append(round(clock.now_ms() / 1000 - lock.stat().st_mtime))
        held.check()

    assert ages == [2, 4, 1, 3, 0]
    assert not lock.exists()


async def test_a_stale_lock_is_taken_over_and_not_removed_by_its_late_holder(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    file = tmp_path / "file"
    turn = ExitStack()

    late = turn.enter_context(DirectoryLock(file, clock=clock))  # which nobody refreshes
    await clock.advance(9)
    await refused(DirectoryLock(file, clock=clock, wait=0))
    await clock.advance(2)
    with DirectoryLock(file, clock=clock, wait=0) as taken:
        with pytest.raises(LockedByAnother, match="was lost"):
            late.check()
        turn.close()
        taken.check()

    assert not (tmp_path / "file.lock").exists()


async def test_a_holder_whose_lock_was_taken_stops_refreshing_it(tmp_path: Path) -> None:
    clock = FakeClock()
    lock = tmp_path / "file.lock"

    async with DirectoryLock(tmp_path / "file", clock=clock) as held:
        lock.rmdir()
        lock.mkdir()
        os.utime(lock, (1, 1))
        await clock.advance(20)
        with pytest.raises(LockedByAnother):
            held.check()

    assert lock.stat().st_mtime == 1


def test_a_stale_lock_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    lock = tmp_path / "file.lock"
    lock.mkdir()
    (lock / "something").touch()
    os.utime(lock, (1, 1))

    with pytest.raises(FileProblem) as caught, DirectoryLock(tmp_path / "file"):
        pass

    assert caught.value.message == f"Cannot take over the stale lock {lock}: Directory not empty."


# The other program


HOLD = """
const lockfile = require("proper-lockfile");
lockfile.lock(process.argv[1]).then(
  (release) => {
    console.log("held");
    process.stdin.once("data", async () => { await release(); process.exit(); });
  },
  (error) => { console.log(error.code); },
);
"""
COUNT_NODE = """
const fs = require("fs");
const lockfile = require("proper-lockfile");
const file = process.argv[1];
const patient = { retries: { retries: 2000, minTimeout: 1, maxTimeout: 20 } };
(async () => {
  for (let i = 0; i < 50; i++) {
    const release = await lockfile.lock(file, patient);
    fs.writeFileSync(file, String(Number(fs.readFileSync(file, "utf8")) + 1));
    await release();
  }
})();
"""
COUNT_PYTHON = """
import pathlib, sys
from pi.base.files import DirectoryLock, replace_file
file = pathlib.Path(sys.argv[1])
for _ in range(50):
    with DirectoryLock(file, wait=60):
        replace_file(file, b"%d" % (int(file.read_bytes()) + 1))
"""

StartNode = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def start_node(tmp_path_factory: pytest.TempPathFactory) -> StartNode:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("not tested: locks against proper-lockfile, because there is no node or npm")
    place = tmp_path_factory.mktemp("npm")
    install = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix"]
    try:
        subprocess.run([*install, str(place), "proper-lockfile@4.1.2"], check=True, timeout=60)
    except subprocess.SubprocessError:
        pytest.skip("not tested: locks against proper-lockfile, which cannot be installed")

    def start(script: str, file: Path) -> subprocess.Popen[str]:
        command, pipe = [node, "-e", script, str(file)], subprocess.PIPE
        return subprocess.Popen(command, cwd=place, stdin=pipe, stdout=pipe, text=True)

    return start


def answer_of(node: subprocess.Popen[str]) -> str:
    assert node.stdout is not None
    return node.stdout.readline().strip()


@pytest.mark.slow
def test_proper_lockfile_and_we_keep_each_other_out(tmp_path: Path, start_node: StartNode) -> None:
    file = tmp_path / "auth.json"
    file.write_text("{}")

    with DirectoryLock(file), start_node(HOLD, file) as node:
        refused = answer_of(node)
    with start_node(HOLD, file) as node:
        held = answer_of(node)
        with pytest.raises(LockedByAnother), DirectoryLock(file, wait=0):
            pass
        node.communicate("release\n", timeout=20)
    with DirectoryLock(file, wait=0):
        pass

    assert (refused, held) == ("ELOCKED", "held")


@pytest.mark.slow
def test_a_lock_of_a_killed_holder_is_taken_over_both_ways(
    tmp_path: Path, start_node: StartNode
) -> None:
    file = tmp_path / "auth.json"
    file.write_text("{}")
    lock = tmp_path / "auth.json.lock"
    long_ago = FakeClock()

    with start_node(HOLD, file) as node:
        held = [answer_of(node)]
        node.kill()
    old = lock.stat().st_mtime - 11
    os.utime(lock, (old, old))
    with DirectoryLock(file, wait=0):
        pass
    DirectoryLock(file, clock=long_ago).__enter__()
    with start_node(HOLD, file) as node:
        held.append(answer_of(node))
        node.communicate("release\n", timeout=20)

    assert held == ["held", "held"]
    assert not lock.exists()


@pytest.mark.slow
def test_no_change_is_lost_when_both_write_the_same_file(
    tmp_path: Path, start_node: StartNode
) -> None:
    file = tmp_path / "counter"
    file.write_text("0")

    ours = [subprocess.Popen([sys.executable, "-c", COUNT_PYTHON, str(file)]) for _ in range(2)]
    theirs = [start_node(COUNT_NODE, file) for _ in range(2)]
    for node in theirs:
        node.communicate(timeout=100)

    assert [process.wait(timeout=100) for process in ours] == [0, 0]
    assert [node.returncode for node in theirs] == [0, 0]
    assert file.read_text() == "200"


@pytest.mark.trap(69)
def test_a_file_in_the_place_of_a_lock_is_set_aside(tmp_path: Path) -> None:
    damaged = tmp_path / "auth.json.lock"
    damaged.write_text("not a lock")

    with DirectoryLock(tmp_path / "auth.json"):
        assert damaged.is_dir()

    assert not damaged.exists()
    assert (tmp_path / "auth.json.lock.damaged").read_text() == "not a lock"
