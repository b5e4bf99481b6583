"""Session files: the names of files and folders, and the writer.

Every entry is in the file when ``write`` returns, or ``problem`` has the reason why not. If the
file fails, the log continues in memory and callers need no error handling. Each new entry retries
the file; once it is writable, all missing entries are written.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from pi.base.errors import PiError
from pi.base.files import FileAccessError, private_directory, replace_file
from pi.base.locks import FileLocked, HolderLock
from pi.base.terminal_text import one_line
from pi.coding.session.errors import SessionInUse

_SEPARATORS = str.maketrans("/\\:", "---")
_IN_TIME = str.maketrans(":.", "--")
_MAX_NAME, _SHORTENED = 255, 200
"""Maximum bytes of a file name on file systems, and the bytes that are kept of a longer one."""
_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"

SESSIONS = "sessions"
"""The folder of all sessions in the agent's directory."""
SUFFIX = ".jsonl"


def folder_name(cwd: str) -> str:
    """Return the folder name of a working directory: ``/a.b/c:d`` becomes ``--a.b-c-d--``.

    A path that is too long for one name is truncated and made unique by a hash.
    """
    without_root = cwd[1:] if cwd[:1] in ("/", "\\") else cwd
    name = f"--{without_root.translate(_SEPARATORS)}--"
    encoded = os.fsencode(name)
    if len(encoded) <= _MAX_NAME:
        return name
    from hashlib import sha256  # rarely needed, and loads OpenSSL

    start = encoded[:_SHORTENED].decode("utf-8", "ignore")
    return f"{start}-{sha256(encoded).hexdigest()[:16]}--"


def session_directory(agent_dir: Path, cwd: str, *, custom: Path | None = None) -> Path:
    """Return the session directory of ``cwd``; a ``custom`` directory has no subfolders."""
    return custom if custom is not None else agent_dir / SESSIONS / folder_name(cwd)


def file_name(timestamp: str, id: str) -> str:
    """Return the file name of the session ``id`` created at ``timestamp``."""
    return f"{timestamp.translate(_IN_TIME)}_{id}{SUFFIX}"


def is_session_id(text: str) -> bool:
    """Whether ``text`` is a valid session id: it becomes part of a file name."""
    return re.fullmatch(_ID, text) is not None


def clean_name(name: str) -> str:
    """Return a session name or label in stored form: one line, no control characters."""
    return one_line(name)


def milliseconds(timestamp: str) -> int:
    """Return a timestamp of a session file in milliseconds since 1970; 0 if invalid."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def lock_session(path: Path) -> HolderLock | None:
    """Lock a session for writing; raises ``SessionInUse``.

    Returns ``None`` where no lock can be created, e.g. in a read-only directory: reading a session
    must still work.
    """
    lock = HolderLock(path)
    try:
        lock.__enter__()
    except FileLocked as busy:
        raise SessionInUse(path, lock.holder()) from busy
    except FileAccessError:
        return None
    return lock


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Lock a session during the ``with`` block; raises ``SessionInUse``.

    Continues without a lock where none can be created.
    """
    lock = lock_session(path)
    try:
        yield
    finally:
        if lock is not None:
            lock.__exit__()


Report: TypeAlias = Callable[[str], None]
"""Shows one line to the user."""

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class SessionWriter:
    """Writer of one session file.

    A new file is created completely and at once with the first line worth keeping; until then lines
    are buffered. An existing file is only appended to, with one ``write`` per line.
    """

    def __init__(
        self,
        path: Path,
        report: Report,
        *,
        lock: HolderLock | None = None,
        id_lock: HolderLock | None = None,
        stored: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.path = path
        self.reason: str | None = None
        """Why the file lacks the latest entries, if it does."""
        self.is_denied = False
        """Whether the last failure was a missing permission or a read-only file system."""
        self._report = report
        self._stored = stored
        """Converts a line with images to its form in the file."""
        self._lock = lock
        self._id_lock = id_lock
        """Held by a new session with a given id until it is closed."""
        self._waiting: list[bytes] = []
        """Lines that are not in the file yet."""
        self._has_given_up = False
        self._is_closed = False
        self._file: os.stat_result | None = None
        """The file being appended to; ``None`` if there is none."""

    @property
    def problem(self) -> str | None:
        """``reason`` as a sentence for the user."""
        if self.reason is None:
            return None
        return f"The session is no longer saved, it continues in memory: {self.reason}."

    @property
    def exists(self) -> bool:
        """Whether the file has content, as far as known."""
        return self._file is not None

    def begin(self, lines: Sequence[bytes], *, worth_keeping: bool) -> None:
        """Buffer the first lines of a new file, with their LF."""
        self._waiting.extend(lines)
        if worth_keeping or self.reason is not None:
            self._attempt(self._publish)

    def follow(self, migrated: bytes | None = None) -> None:
        """Continue an existing file; ``migrated`` replaces its content, and a backup is kept."""

        def look() -> None:
            if migrated is not None:
                _keep_backup(self.path)
                replace_file(self.path, migrated)
            self._file = self.path.stat()

        self._attempt(look)
        self._has_given_up = (
            self._file is None
        )  # never append to a file that has changed unexpectedly

    def write(self, line: bytes, *, worth_keeping: bool) -> None:
        """Write one line with its LF."""
        if self._has_given_up or self._is_closed:  # closed: another writer may have the file
            return
        if self._file is None:
            self.begin([line], worth_keeping=worth_keeping)
        else:
            self._waiting.append(line)
            self._attempt(self._append)

    def close(self) -> None:
        """Write all buffered lines and release the lock; later lines stay in memory."""
        self._is_closed = True
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
            self.is_denied = error.errno in _DENIED
            self._fail(f"cannot write {self.path}: {error.strerror or error}")
        except PiError as error:
            cause = error.__cause__
            self.is_denied = isinstance(cause, OSError) and cause.errno in _DENIED
            self._fail(error.message.removesuffix("."))

    def _succeed(self) -> None:
        if self.reason is not None:
            self.reason = None
            self._report("The session is saved again.")

    def _fail(self, reason: str) -> None:
        is_first_failure = self.reason is None
        self.reason = reason
        if is_first_failure and self.problem is not None:
            self._report(self.problem)

    def _publish(self) -> None:
        private_directory(self.path.parent)
        if self._lock is None:
            self._lock = lock_session(self.path)
        if self.path.exists() and self.path.stat().st_size:
            raise FileAccessError(f"{self.path} was made by another program")
        replace_file(self.path, b"".join(map(self._file_form, self._waiting)))
        self._waiting.clear()
        self._file = self.path.stat()

    def _file_form(self, line: bytes) -> bytes:
        return self._stored(line) if b"image" in line else line

    def _append(self) -> None:
        fd = os.open(self.path, _FLAGS)
        try:
            if self._file is None or not os.path.samestat(os.fstat(fd), self._file):
                raise FileAccessError(f"{self.path} was replaced by another program")
            start = b"\n" if is_torn(fd) else b""
            while self._waiting:
                _write_all(fd, start + self._file_form(self._waiting[0]))
                start = b""
                del self._waiting[0]
        finally:
            os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    """Append everything or nothing: a partial line, retried, could become a duplicate."""
    before, rest = os.lseek(fd, 0, os.SEEK_END), memoryview(data)
    try:
        while rest:  # one iteration, unless the disk is full: the second attempt then reports it
            rest = rest[os.write(fd, rest) :]
    except OSError:
        is_last = os.fstat(fd).st_size == before + len(data) - len(rest)
        if len(rest) < len(data) and is_last:
            os.ftruncate(fd, before)
        raise


def is_torn(fd: int) -> bool:
    """Whether the last line of an open file is incomplete: it has no LF."""
    if os.lseek(fd, 0, os.SEEK_END) == 0:
        return False
    os.lseek(fd, -1, os.SEEK_END)
    return os.read(fd, 1) != b"\n"


def _keep_backup(path: Path) -> None:
    """Copy the file beside itself, under an unused name."""
    backup, number = Path(f"{path}.bak"), 1
    while backup.exists():
        number += 1
        backup = Path(f"{path}.bak{number}")
    replace_file(backup, path.read_bytes(), mode=path.stat().st_mode & 0o777)
