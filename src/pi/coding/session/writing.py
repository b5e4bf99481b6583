"""The file of a session: every entry is in it when ``write`` returns, or ``problem`` says why not.

The log goes on in memory when the file fails; nobody above has to handle that. With each new entry
the file is tried again, and once it can be written it gets everything that it lacks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from pi.base.errors import PiError
from pi.base.files import (
    FileAccessError,
    FileLock,
    FileLocked,
    private_directory,
    read_regular,
    replace_file,
)
from pi.coding.session.errors import SessionInUse

# One writer per session: a lock beside the file, for as long as the session is open.


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
    except FileLocked as busy:
        raise SessionInUse(path, lock.holder()) from busy
    except FileAccessError:
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


Report: TypeAlias = Callable[[str], None]
"""Shows one line to the person."""

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class SessionWriter:
    """One session file that is being written.

    A new file appears, complete and at once, with the first line that is worth keeping; until then
    the lines wait. An existing one is only ever appended to, with one ``write`` per line.
    """

    def __init__(
        self,
        path: Path,
        report: Report,
        *,
        lock: SessionLock | None = None,
        id_lock: SessionLock | None = None,
        stored: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.path = path
        self.reason: str | None = None
        """Why the file lacks the latest entries, if it does."""
        self._report = report
        self._stored = stored
        """From a line as it is used to the line that the file is to have."""
        self._lock = lock
        self._id_lock = id_lock
        """Held by a new session whose id was given, until it is closed."""
        self._waiting: list[bytes] = []
        """Lines that are not in the file yet."""
        self._has_given_up = False
        self._file: os.stat_result | None = None
        """The file that is appended to; ``None`` as long as there is none."""

    @property
    def problem(self) -> str | None:
        """The same as a sentence for the user of the open session."""
        if self.reason is None:
            return None
        return f"The session is no longer saved, it goes on in memory: {self.reason}."

    @property
    def exists(self) -> bool:
        """Whether there is something in the file, as far as we know."""
        return self._file is not None

    def begin(self, lines: Sequence[bytes], *, worth_keeping: bool) -> None:
        """Take the first lines of a new file, with their LF."""
        self._waiting.extend(lines)
        if worth_keeping or self.reason is not None:
            self._attempt(self._publish)

    def follow(self, migrated: bytes | None = None) -> None:
        """Go on with an existing file; ``migrated`` takes its place, and it stays as a backup."""

        def look() -> None:
            if migrated is not None:
                _keep_backup(self.path)
                replace_file(self.path, migrated)
            self._file = self.path.stat()

        self._attempt(look)
        self._has_given_up = self._file is None  # nothing can be put behind what is not as it was

    def write(self, line: bytes, *, worth_keeping: bool) -> None:
        """Take one line with its LF."""
        if self._has_given_up:
            return
        if self._file is None:
            self.begin([line], worth_keeping=worth_keeping)
        else:
            self._waiting.append(line)
            self._attempt(self._append)

    def close(self) -> None:
        """Write what is still to be written, and let others write to the session."""
        if self.reason is not None and not self._has_given_up:
            self._attempt(self._publish if self._file is None else self._append)
        for lock in (self._lock, self._id_lock):
            if lock is not None:
                lock.__exit__()
        self._lock = self._id_lock = None

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
            self._succeed()
        except FileNotFoundError:
            self._fail(f"{self.path} was removed")
        except OSError as error:
            self._fail(f"cannot write {self.path}: {error.strerror or error}")
        except PiError as problem:
            self._fail(problem.message.removesuffix("."))

    def _succeed(self) -> None:
        if self.reason is not None:
            self.reason = None
            self._report("The session is saved again.")

    def _fail(self, reason: str) -> None:
        is_news = self.reason is None
        self.reason = reason
        if is_news and self.problem is not None:
            self._report(self.problem)

    def _publish(self) -> None:
        private_directory(self.path.parent)
        if self._lock is None:
            self._lock = lock_session(self.path)
        if self.path.exists() and self.path.stat().st_size:
            raise FileAccessError(f"{self.path} was made by another program")
        replace_file(self.path, b"".join(map(self._stored, self._waiting)))
        self._waiting.clear()
        self._file = self.path.stat()

    def _append(self) -> None:
        fd = os.open(self.path, _FLAGS)
        try:
            if self._file is None or not os.path.samestat(os.fstat(fd), self._file):
                raise FileAccessError(f"{self.path} was replaced by another program")
            start = b"\n" if _is_torn(fd) else b""
            while self._waiting:
                _write_all(fd, start + self._stored(self._waiting[0]))
                start = b""
                del self._waiting[0]
        finally:
            os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    """Append everything or nothing: half a line, tried again, could become the same line twice."""
    before, rest = os.lseek(fd, 0, os.SEEK_END), memoryview(data)
    try:
        while rest:  # once, unless the disk is full: the second attempt then says so
            rest = rest[os.write(fd, rest) :]
    except OSError:
        is_last = os.fstat(fd).st_size == before + len(data) - len(rest)
        if len(rest) < len(data) and is_last:
            os.ftruncate(fd, before)
        raise


def _is_torn(fd: int) -> bool:
    """Whether the file ends in the middle of a line; that line is left as it is."""
    if os.lseek(fd, 0, os.SEEK_END) == 0:
        return False
    os.lseek(fd, -1, os.SEEK_END)
    return os.read(fd, 1) != b"\n"


def _keep_backup(path: Path) -> None:
    """Copy the file beside itself, under a name that is free."""
    backup, number = Path(f"{path}.bak"), 1
    while backup.exists():
        number += 1
        backup = Path(f"{path}.bak{number}")
    replace_file(backup, path.read_bytes(), mode=path.stat().st_mode & 0o777)
