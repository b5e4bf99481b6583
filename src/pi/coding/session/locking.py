"""One writer per session: a lock beside the file, for as long as the session is open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pi.base.files import FileLock, FileProblem, LockedByAnother, read_regular
from pi.coding.session.errors import SessionInUse

_PID_AT = 1
"""Where in the lock file the pid begins: Windows keeps others from reading the first byte."""


class SessionLock(FileLock):
    """The turn at one session, by whatever path it is reached. The file goes with the lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(Path(f"{os.path.realpath(path)}.lock"))

    def _take(self) -> bool:
        if not super()._take():
            return False
        if not self._is_current():  # the last holder removed the file while we opened it
            super()._release()
            return self._take()
        with suppress(OSError):  # a full disk: the lock holds without the pid, which only informs
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f" {os.getpid()}\n".encode())
        return True

    def _release(self) -> None:
        if self._is_current():  # otherwise it is somebody else's by now
            with suppress(OSError):  # Windows does not remove what is open
                self._path.unlink()
        super()._release()

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def holder(self) -> int | None:
        """The process that has the lock, if it can be told."""
        with suppress(OSError, ValueError):
            return int(read_regular(self._path)[_PID_AT:])
        return None


def lock_session(path: Path) -> SessionLock | None:
    """Keep others from writing to the session; ``SessionInUse`` if one does.

    ``None`` where no lock can be made, as in a directory that cannot be written to: reading a
    session must not fail for that.
    """
    lock = SessionLock(path)
    try:
        lock.__enter__()
    except LockedByAnother as busy:
        raise SessionInUse(path, lock.holder()) from busy
    except FileProblem:
        return None
    return lock


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Keep others from opening a session for the time of ``with``; ``SessionInUse`` if one has.

    Where no lock can be made there is none.
    """
    lock = lock_session(path)
    try:
        yield
    finally:
        if lock is not None:
            lock.__exit__()
