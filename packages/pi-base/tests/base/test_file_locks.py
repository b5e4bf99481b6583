from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from pi.base.files import FileAccessError
from pi.base.locks import DirectoryLock, FileLock, FileLocked
from pi.base.testing import FakeClock

# Locks of our own files


def test_a_file_lock_excludes_others_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    with FileLock(path), pytest.raises(FileLocked) as caught, FileLock(path):
        pass
    with FileLock(path, wait=1.0):
        pass

    assert caught.value.message == f"{path} is locked by another program."


def test_a_file_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import pathlib, sys; from pi.base.locks import FileLock\n"
        "with FileLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(FileLocked), FileLock(path):
            pass
        holder.kill()
        holder.wait()

    with FileLock(path):
        pass


async def test_waiting_for_a_file_lock_does_not_block_the_event_loop(tmp_path: Path) -> None:
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

    with pytest.raises(FileAccessError) as own, FileLock(missing):
        pass
    with pytest.raises(FileAccessError) as shared, DirectoryLock(missing):
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


def test_a_directory_lock_that_is_held_is_reported_with_its_age(tmp_path: Path) -> None:
    clock = FakeClock()
    file = tmp_path / "auth.json"

    with (
        DirectoryLock(file, clock=clock),
        pytest.raises(FileLocked) as caught,
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
    with pytest.raises(FileLocked):
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


async def test_a_stale_lock_is_taken_over_and_not_removed_by_its_old_holder(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    file = tmp_path / "file"
    turn = ExitStack()

    late = turn.enter_context(DirectoryLock(file, clock=clock))  # not refreshed
    await clock.advance(9)
    await refused(DirectoryLock(file, clock=clock, wait=0))
    await clock.advance(2)
    with DirectoryLock(file, clock=clock, wait=0) as taken:
        with pytest.raises(FileLocked, match="was lost"):
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
        with pytest.raises(FileLocked):
            held.check()

    assert lock.stat().st_mtime == 1


def test_a_stale_lock_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    lock = tmp_path / "file.lock"
    lock.mkdir()
    (lock / "something").touch()
    os.utime(lock, (1, 1))

    with pytest.raises(FileAccessError) as caught, DirectoryLock(tmp_path / "file"):
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
from pi.base.locks import DirectoryLock
from pi.base.files import replace_file
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


@pytest.mark.full
@pytest.mark.slow
def test_proper_lockfile_and_directory_locks_exclude_each_other(
    tmp_path: Path, start_node: StartNode
) -> None:
    file = tmp_path / "auth.json"
    file.write_text("{}")

    with DirectoryLock(file), start_node(HOLD, file) as node:
        refused = answer_of(node)
    with start_node(HOLD, file) as node:
        held = answer_of(node)
        with pytest.raises(FileLocked), DirectoryLock(file, wait=0):
            pass
        node.communicate("release\n", timeout=20)
    with DirectoryLock(file, wait=0):
        pass

    assert (refused, held) == ("ELOCKED", "held")


@pytest.mark.slow
def test_a_lock_of_a_killed_holder_is_taken_over_by_pi_and_by_proper_lockfile(
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


@pytest.mark.full
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


@pytest.mark.behaviour("lock-contention-waits")
def test_a_file_in_the_place_of_a_lock_is_renamed(tmp_path: Path) -> None:
    damaged = tmp_path / "auth.json.lock"
    damaged.write_text("not a lock")

    with DirectoryLock(tmp_path / "auth.json"):
        assert damaged.is_dir()

    assert not damaged.exists()
    assert (tmp_path / "auth.json.lock.damaged").read_text() == "not a lock"
