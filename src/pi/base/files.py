"""Safe file access: bounded reading, atomic replacement, locks between processes.

FileAccessError     a file cannot be read, written or locked
└── FileLocked      another process holds the lock, or took it over
"""

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
from typing import TYPE_CHECKING, BinaryIO, Self

from pi.base.clock import Clock, SystemClock
from pi.base.errors import PiError

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

PRIVATE = 0o600
"""The mode of every file in the agent directory, independent of the umask."""
OTHERS_MAY_WRITE = 0o022

MAX_READ_BYTES = 4 * 1024 * 1024
"""Limit for files that users write and pi reads on its own: settings, rules, git's files."""
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

FIRST_PAUSE, MAX_PAUSE = 0.005, 0.25
"""Seconds between two attempts to get a lock; the pause doubles up to the maximum."""

HINTS = {
    errno.EACCES: "Check the permissions of the file and its directory.",
    errno.EPERM: "Check the permissions of the file and its directory.",
    errno.EROFS: "The file system is read-only: choose another place.",
    errno.ENOSPC: "Free some disk space and try again.",
    errno.EDQUOT: "Free some disk space and try again.",
    errno.ENOENT: "Create its directory first.",
}


class FileAccessError(PiError):
    """A file cannot be read, written or locked."""


class FileLocked(FileAccessError):
    """Another program holds the lock, or took it over because it was not refreshed in time."""


def open_regular(path: Path, *, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading; raises ``OSError`` for a pipe, a socket or a device.

    Reading those may never end, and opening a pipe waits for a writer. A repository can contain
    links to ``/dev/zero``, so any path may lead to one.
    """
    return open(path, "rb", buffering=buffering, opener=_open_regular)


def _open_regular(path: str, flags: int) -> int:
    fd = os.open(path, flags | _WITHOUT_WAITING)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # opening a directory raises Python's own error
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is a device or a pipe, not a regular file", path)


def read_regular(path: Path, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
    """Returns the content of a regular file; raises ``OSError`` if it exceeds ``max_bytes``."""
    with open_regular(path, buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        data = b""
        while size <= max_bytes and (piece := file.read(max(size - len(data) + 1, 4096))):
            data += piece  # a file can grow, and files in /proc report a size of 0
            size = max(size, len(data))
    if size > max_bytes:
        limit = f"{max_bytes >> 20} MiB" if max_bytes >= 1 << 20 else f"{max_bytes} bytes"
        raise OSError(errno.EFBIG, f"it is larger than {limit}", str(path))
    return data


def read_if_exists(path: Path, *, max_bytes: int = MAX_READ_BYTES) -> bytes | None:
    """Returns the content of a regular file, or None if there is none.

    Raises ``FileAccessError`` if the file cannot be read or is too large.
    """
    try:
        return read_regular(path, max_bytes=max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _access_error("read", path, error) from error


def expand_home(path: str | Path, *, strict: bool = True) -> Path:
    """Returns ``path`` with ``~`` and ``~user`` replaced.

    If there is no such user, raises ``FileAccessError``, or without ``strict`` returns the path
    unchanged: for text that may not be a path at all.
    """
    if strict and "\0" in str(path):
        raise FileAccessError(f"Cannot use the path {str(path)!r}: it holds a zero byte.")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        if not strict:
            return Path(path)
        name = Path(path).parts[0]
        raise FileAccessError(
            f"Cannot use the path {path}: there is no home directory for {name}.",
            hint="Write the whole path.",
        ) from error


def is_special_file(path: Path) -> bool:
    """Whether ``path`` is a pipe, a socket or a device: opening or reading it can block for
    ever."""
    found = _stat(path)
    return found is not None and not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def private_directory(path: Path) -> Path:
    """Returns ``path`` as a directory; creates missing parts with access for the owner only."""
    try:
        for missing in reversed([p for p in (path, *path.parents) if not p.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _access_error("create the directory", path, error) from error
    if not path.is_dir():
        raise FileAccessError(f"Cannot use {path} as a directory: there is a file of that name.")
    return path


def open_private(path: str, flags: int) -> int:
    """Opener for ``open`` that creates files with access for the owner only."""
    return os.open(path, flags, PRIVATE)


def replace_file(path: Path, data: bytes, *, mode: int | None = PRIVATE) -> None:
    """Replace the content of a file atomically: readers and crashes see the old or the new one.

    A symbolic link stays a link to the file that is replaced. Other hard links keep the old
    content; use ``write_in_place`` for those. A new file gets ``mode``, and no other user can open
    it before that is set. An existing file keeps its mode, its extended attributes and, where
    permitted, its owner, but group and others lose the right to write: only the owner may change
    settings and trust. With ``mode=None``, for the user's own files, the umask applies to a new
    file and an existing one keeps its mode unchanged.
    """
    target = Path(os.path.realpath(path))
    # Not named after the target: a name of 255 bytes leaves no room for a suffix.
    beside = target.with_name(f".pi-{os.urandom(8).hex()}.tmp")
    try:
        old = _stat(target)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise FileAccessError(f"Cannot write {path}: it is not a regular file.")
        _write_new(beside, data, old=old, mode=mode)
        if old is not None:
            _copy_attributes(target, beside)
        beside.replace(target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            raise _access_error("write", path, error) from error
        raise
    _sync_directory(target.parent)


def write_in_place(path: Path, data: bytes) -> None:
    """Overwrite an existing file without replacing it, so that all its hard links see the change.

    For files that cannot or must not be replaced. A failure, such as a full disk, restores the old
    content; a crash in the middle can leave a mixture of both.
    """
    try:
        with path.open("r+b", buffering=0) as file:
            old = file.read()
            try:
                # The part beyond the old end first: a full disk fails before old content is
                # overwritten.
                _write_at(file.fileno(), data[len(old) :], len(old))
                _write_at(file.fileno(), data[: len(old)], 0)
                file.truncate(len(data))
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(min(len(old), os.fstat(file.fileno()).st_size))
                _write_at(file.fileno(), old, 0)
                raise
    except OSError as error:
        raise _access_error("write", path, error) from error


def _write_at(fd: int, data: bytes, offset: int) -> None:
    os.lseek(fd, offset, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _copy_attributes(source: Path, target: Path) -> None:
    """Copy extended attributes, which include access control lists."""
    if sys.platform != "linux":  # the standard library supports them on Linux only
        return
    try:
        names = os.listxattr(source)
    except OSError:
        return  # a file system without them
    for name in names:
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError:
            # The kernel's own attributes (capabilities, labels) can be set by the kernel or root
            # only, and every write drops capabilities anyway.
            if not name.startswith(("security.", "trusted.")):
                raise


def _write_new(path: Path, data: bytes, *, old: os.stat_result | None, mode: int | None) -> None:
    """Write a new file and sync it with its final mode and owner."""
    private = old is not None or mode is not None
    final = mode
    if old is not None:
        final = stat.S_IMODE(old.st_mode)
        if mode is not None:
            final &= ~OTHERS_MAY_WRITE

    def create(name: str, flags: int) -> int:
        return os.open(name, flags, PRIVATE if private else 0o666)

    with open(path, "xb", opener=create) as file:
        file.write(data)
        file.flush()
        if sys.platform != "win32":
            if old is not None:
                _keep_owner(file.fileno(), old)
            if final is not None:
                os.fchmod(file.fileno(), final)  # last: writing and chown clear special bits
        os.fsync(file.fileno())


def _keep_owner(fd: int, old: os.stat_result) -> None:
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        return
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except OSError:
        with suppress(OSError):  # only root can change the owner, but the group can be kept
            os.fchown(fd, -1, old.st_gid)


def _sync_directory(path: Path) -> None:
    """Sync a directory, so that a rename survives a power cut; ignored where unsupported."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class _Lock(abc.ABC):
    """Base of the locks: waits for the lock with ``with`` (blocks the thread) or ``async with``."""

    def __init__(self, *, wait: float, clock: Clock) -> None:
        self._wait = wait
        self._clock = clock

    def __enter__(self) -> Self:
        pauses = _pauses(self._wait)
        while not self._take():
            if (pause := next(pauses, None)) is None:
                raise self._busy()
            time.sleep(pause)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    async def __aenter__(self) -> Self:
        pauses = _pauses(self._wait)
        while not self._take():
            if (pause := next(pauses, None)) is None:
                raise self._busy()
            await self._clock.sleep(pause)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._release()

    @abc.abstractmethod
    def _take(self) -> bool:
        """Try once to take the lock; returns False if another process has it."""

    @abc.abstractmethod
    def _release(self) -> None:
        """Release what ``_take`` took."""

    @abc.abstractmethod
    def _busy(self) -> FileLocked:
        """Returns the error to raise after the last attempt."""


class FileLock(_Lock):
    """A lock of the operating system on a file of its own, used by pi only.

    ``path`` is created if missing and is not removed. The lock ends with its holder, also after a
    crash. Without ``wait``, a lock that is taken raises ``FileLocked`` at once.
    """

    def __init__(self, path: Path, *, wait: float = 0.0, clock: Clock | None = None) -> None:
        super().__init__(wait=wait, clock=clock or SystemClock())
        self._path = path
        self._fd = -1

    def _take(self) -> bool:
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as error:
            raise _access_error("create the lock", self._path, error) from error
        try:
            _lock_now(fd)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                return False
            raise _access_error("lock", self._path, error) from error
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

    def _take(self) -> bool:
        try:
            self._lock.mkdir(mode=0o700)
            self._stamp()
        except FileExistsError:
            return self._take_over()
        except OSError as error:
            raise _access_error("lock", self._file, error) from error
        return True

    def _take_over(self) -> bool:
        """Replace a lock whose holder is no longer alive.

        Checking and removing cannot be atomic, so nothing else happens between them.
        """
        found = _stat(self._lock)
        if found is None:
            return False
        age = self._age_of(found)
        # Compare with the lock that was checked: a new, fresh one may have replaced it by now.
        is_lock = stat.S_ISDIR(found.st_mode)
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
            raise _access_error("take over the stale lock", self._lock, error) from error
        log.info("removed %s, which was %.0f seconds old", self._lock, age)
        return self._take()

    def _release(self) -> None:
        mine, self._mine = self._mine, None
        if self._on_disk() != mine:
            log.warning("%s was taken over while it was held", self._lock)
            return
        with suppress(OSError):
            self._lock.rmdir()

    def _busy(self) -> FileLocked:
        found = _stat(self._lock)
        age = self._age_of(found) if found else 0.0
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
        """Returns what identifies one holder's lock: inode and time."""
        found = _stat(self._lock)
        return (found.st_ino, found.st_mtime_ns) if found else None

    def _age_of(self, lock: os.stat_result) -> float:
        return self._clock.now_ms() / 1000 - lock.st_mtime


def _pauses(wait: float) -> Iterator[float]:
    """Yields growing pauses that add up to ``wait`` seconds."""
    pause = FIRST_PAUSE
    while wait > 0:
        yield min(pause, wait)
        wait -= pause
        pause = min(pause * 2, MAX_PAUSE)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _access_error(doing: str, path: Path, error: OSError) -> FileAccessError:
    return FileAccessError(
        f"Cannot {doing} {path}: {error.strerror or error}.", hint=HINTS.get(error.errno or 0, "")
    )
