"""Locks between processes: of the operating system, and the lock directories of the original pi."""

from __future__ import annotations

import abc
import errno
import logging
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pi.base.clock import Clock, SystemClock
from pi.base.files import PRIVATE, FileAccessError, access_error, read_regular, stat_if_exists

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

FIRST_PAUSE, MAX_PAUSE = 0.005, 0.25
"""Seconds between two attempts to get a lock; the pause doubles up to the maximum."""


class FileLocked(FileAccessError):
    """Another program holds the lock, or took it over because it was not refreshed in time."""


class _Lock(abc.ABC):
    """Base of the locks: waits for the lock with ``with`` (blocks the thread) or ``async with``."""

    def __init__(self, *, wait: float, clock: Clock) -> None:
        self._wait = wait
        self._clock = clock

    def __enter__(self) -> Self:
        pauses = _pauses(self._wait)
        while not self._try_acquire():
            if (pause := next(pauses, None)) is None:
                raise self._busy()
            time.sleep(pause)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    async def __aenter__(self) -> Self:
        pauses = _pauses(self._wait)
        while not self._try_acquire():
            if (pause := next(pauses, None)) is None:
                raise self._busy()
            await self._clock.sleep(pause)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release()

    @abc.abstractmethod
    def _try_acquire(self) -> bool:
        """Try once to take the lock; returns False if another process has it."""

    @abc.abstractmethod
    def _release(self) -> None:
        """Release the lock that ``_try_acquire`` took."""

    @abc.abstractmethod
    def _busy(self) -> FileLocked:
        """Return the error to raise after the last attempt."""


class FileLock(_Lock):
    """A lock of the operating system on a file of its own, used by pi only.

    ``path`` is created if missing and is not removed. The lock ends with its holder, also after a
    crash. Without ``wait``, a lock that is taken raises ``FileLocked`` at once.
    """

    def __init__(self, path: Path, *, wait: float = 0.0, clock: Clock | None = None) -> None:
        super().__init__(wait=wait, clock=clock or SystemClock())
        self._path = path
        self._fd = -1

    def _try_acquire(self) -> bool:
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as error:
            raise access_error("create the lock", self._path, error) from error
        try:
            _lock_now(fd)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                return False
            raise access_error("lock", self._path, error) from error
        self._fd = fd
        return True

    def _release(self) -> None:
        os.close(self._fd)  # closing releases the lock

    def _busy(self) -> FileLocked:
        return FileLocked(
            f"{self._path} is locked by another program.", hint="Close that one or wait for it."
        )


def _lock_now(fd: int) -> None:
    """Take an exclusive lock on an open file; raises OSError if another process has it."""
    # Each module exists on one of the systems only.
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        # Not lockf: its locks do not exclude the same process, and end when any descriptor of the
        # file is closed.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


_PID_AT = 1
"""Offset of the pid in the lock file: Windows blocks reading the locked first byte."""


class HolderLock(FileLock):
    """A lock on a file, whatever path leads to it; ``<file>.lock`` beside it names its holder.

    The lock file is removed with the lock.
    """

    def __init__(self, path: Path, *, wait: float = 0.0) -> None:
        super().__init__(Path(f"{os.path.realpath(path)}.lock"), wait=wait)

    def _try_acquire(self) -> bool:
        if not super()._try_acquire():
            return False
        if not self._is_current():  # the last holder removed the file while we opened it
            super()._release()
            return self._try_acquire()
        with suppress(
            OSError
        ):  # a full disk: the lock works without the pid, which is informational
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f" {os.getpid()}\n".encode())
        return True

    def _release(self) -> None:
        if self._is_current():  # otherwise it belongs to another process by now
            with suppress(OSError):  # Windows does not remove open files
                self._path.unlink()
        super()._release()

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def holder(self) -> int | None:
        """The process that has the lock, if known."""
        with suppress(OSError, ValueError):
            return int(read_regular(self._path)[_PID_AT:])
        return None


class DirectoryLock(_Lock):
    """A lock that is compatible with proper-lockfile, which the original pi uses.

    The lock is a directory ``<file>.lock`` beside the real file. Its modification time shows that
    the holder is alive: ``async with`` refreshes it every ``stale / 2`` seconds; ``with`` does not,
    so use that for short work only. A lock older than ``stale`` seconds is taken over. ``wait`` is
    longer than ``stale``, so that a crashed holder never blocks for good.
    """

    def __init__(
        self,
        path: Path,
        *,
        wait: float = 15.0,
        stale: float = 10.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(wait=wait, clock=clock or SystemClock())
        self._file = path
        self._lock = Path(f"{os.path.realpath(path)}.lock")
        self._stale = stale
        self._mine: tuple[int, int] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise ``FileLocked`` if the lock was lost; call it before writing after a pause."""
        if self._mine is None or self._on_disk() != self._mine:
            raise FileLocked(
                f"The lock {self._lock} was lost: it was not refreshed in time or was removed.",
                hint="Try again.",
            )

    async def __aenter__(self) -> Self:
        # Lazy: reading a settings file must not cost the import of the event loop.
        import asyncio

        await super().__aenter__()
        self._refreshing = asyncio.create_task(self._refresh(), name=f"refresh {self._lock.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        refreshing, self._refreshing = self._refreshing, None
        self._release()
        if refreshing is not None:
            refreshing.cancel()
            await asyncio.wait({refreshing})

    async def _refresh(self) -> None:
        while True:
            await self._clock.sleep(self._stale / 2)
            if self._on_disk() != self._mine:
                return  # taken over by another process; check() reports it
            with suppress(OSError):  # the next refresh may succeed
                self._stamp()

    def _try_acquire(self) -> bool:
        try:
            self._lock.mkdir(mode=0o700)
            self._stamp()
        except FileExistsError:
            return self._take_over()
        except OSError as error:
            raise access_error("lock", self._file, error) from error
        return True

    def _take_over(self) -> bool:
        """Replace a lock whose holder is no longer alive.

        Checking and removing cannot be atomic, so nothing else happens between them.
        """
        status = stat_if_exists(self._lock)
        if status is None:
            return False
        age = self._age_of(status)
        is_lock = stat.S_ISDIR(status.st_mode)
        if is_lock and age <= self._stale:
            return False
        try:
            if is_lock:
                self._lock.rmdir()
            else:  # damaged: a file instead of a directory has no holder
                self._lock.replace(f"{self._lock}.damaged")
        except FileNotFoundError:
            return False  # another process was faster
        except OSError as error:
            raise access_error("take over the stale lock", self._lock, error) from error
        log.info("removed %s, which was %.0f seconds old", self._lock, age)
        return self._try_acquire()

    def _release(self) -> None:
        mine, self._mine = self._mine, None
        if self._on_disk() != mine:
            log.warning("%s was taken over while it was held", self._lock)
            return
        with suppress(OSError):
            self._lock.rmdir()

    def _busy(self) -> FileLocked:
        status = stat_if_exists(self._lock)
        age = self._age_of(status) if status else 0.0
        return FileLocked(
            f"{self._file} is locked by another program: {self._lock} was refreshed "
            f"{max(age, 0.0):.1f} seconds ago.",
            hint="Try again when that one has finished; if none runs, remove that directory.",
        )

    def _stamp(self) -> None:
        now = self._clock.now_ms() * 1_000_000
        os.utime(self._lock, ns=(now, now))
        self._mine = self._on_disk()

    def _on_disk(self) -> tuple[int, int] | None:
        """Return inode and time, which identify the lock of one holder; ``None`` without one."""
        status = stat_if_exists(self._lock)
        return (status.st_ino, status.st_mtime_ns) if status else None

    def _age_of(self, lock: os.stat_result) -> float:
        return self._clock.now_ms() / 1000 - lock.st_mtime


def _pauses(wait: float) -> Iterator[float]:
    """Yield growing pauses that add up to ``wait`` seconds."""
    pause = FIRST_PAUSE
    while wait > 0:
        yield min(pause, wait)
        wait -= pause
        pause = min(pause * 2, MAX_PAUSE)
