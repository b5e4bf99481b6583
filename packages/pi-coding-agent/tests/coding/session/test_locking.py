from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi.base.locks import HolderLock
from pi.coding.session.errors import SessionInUse
from pi.coding.session.opening import open_session
from pi.coding.session.writing import lock_session, sole_use
from tests.coding.session.saved import begin, keep, location
from tests.files import full_disk

HOLD = """
import sys
from pathlib import Path
from pi.coding.session.writing import lock_session
lock = lock_session(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock of a session until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    return holder


@pytest.mark.behaviour("session-identity-and-order")
def test_the_error_names_the_process_that_holds_the_lock_also_through_a_link(
    tmp_path: Path,
) -> None:
    path, link = tmp_path / "s.jsonl", tmp_path / "link.jsonl"
    path.touch()
    link.symlink_to(path)

    with hold(path) as holder:
        with pytest.raises(SessionInUse) as refused:
            lock_session(link)
        holder.communicate()

    assert (refused.value.pid, refused.value.path) == (holder.pid, link)


def test_a_lock_is_released_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with hold(path) as holder:
        holder.kill()
        holder.communicate()

    lock = lock_session(path)

    assert lock is not None
    lock.__exit__()


def test_the_same_process_cannot_open_a_session_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lock = lock_session(path)
    assert lock is not None

    with pytest.raises(SessionInUse) as refused:
        lock_session(path)
    lock.__exit__()

    assert refused.value.pid == os.getpid()


def test_a_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with HolderLock(tmp_path / "s.jsonl"):
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_acquired_again_when_its_file_was_removed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    class Racing(HolderLock):
        """A lock whose file is removed once, between opening and checking it."""

        lost = False

        def _is_current(self) -> bool:
            if not self.lost:
                self.lost = True
                self._path.unlink()
            return super()._is_current()

    with Racing(path), pytest.raises(SessionInUse):
        lock_session(path)


def test_the_lock_file_of_another_process_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with HolderLock(path):
        (tmp_path / "s.jsonl.lock").unlink()
        (tmp_path / "s.jsonl.lock").write_text("theirs")

    assert (tmp_path / "s.jsonl.lock").read_text() == "theirs"


def test_a_lock_can_be_released_after_its_folder_was_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    with HolderLock(folder / "s.jsonl"):
        folder.rename(tmp_path / "away")
        folder.write_text("in the way")

    assert folder.read_text() == "in the way"


def test_a_damaged_lock_file_names_no_process(tmp_path: Path) -> None:
    lock = HolderLock(tmp_path / "s.jsonl")
    (tmp_path / "s.jsonl.lock").write_text("who?")

    assert lock.holder() is None


def test_lock_session_returns_none_where_no_lock_file_can_be_created(tmp_path: Path) -> None:
    assert lock_session(tmp_path / "missing/s.jsonl") is None


def test_a_session_cannot_be_opened_during_sole_use(tmp_path: Path) -> None:
    target = location(tmp_path)
    path = keep(target, "x")

    with sole_use(path), pytest.raises(SessionInUse):
        open_session(path, target)

    open_session(path, target).close()
    assert list(path.parent.iterdir()) == [path]


def test_sole_use_of_an_open_session_raises(tmp_path: Path) -> None:
    log = begin(location(tmp_path), "x")
    assert log.file is not None

    with pytest.raises(SessionInUse), sole_use(log.file):
        pass
    log.close()


def test_sole_use_works_where_no_lock_file_can_be_created(tmp_path: Path) -> None:
    with sole_use(tmp_path / "missing" / "s.jsonl"):
        assert not (tmp_path / "missing").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are of POSIX")
def test_a_lock_works_on_a_full_disk_without_the_pid_of_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    with full_disk(0):
        lock = lock_session(path)
    assert lock is not None
    try:
        with pytest.raises(SessionInUse) as refused:
            lock_session(path)
    finally:
        lock.__exit__()

    assert refused.value.pid is None
