"""The file of a session: every entry is in it when ``write`` returns, or ``problem`` says why not.

The log goes on in memory when the file fails; nobody above has to handle that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.base.errors import PiError
from pi.base.files import FileProblem, private_directory, replace_file
from pi.coding.session.locking import SessionLock, lock_session

Report: TypeAlias = Callable[[str], None]
"""Shows one line to the person."""

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Mirror:
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
        stored: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the file is not written any more."""
        self._report = report
        self._stored = stored
        """From a line as it is used to the line that the file is to have."""
        self._lock = lock
        self._waiting: list[bytes] = []
        self._file: os.stat_result | None = None
        """The file that is appended to; ``None`` as long as there is none."""

    @property
    def exists(self) -> bool:
        """Whether there is something in the file, as far as we know."""
        return self._file is not None

    def begin(self, lines: Sequence[bytes], *, worth_keeping: bool) -> None:
        """Take the first lines of a new file, with their LF."""
        self._waiting.extend(map(self._stored, lines))
        if worth_keeping:
            self._attempt(self._publish)

    def follow(self, migrated: bytes | None = None) -> None:
        """Go on with an existing file; ``migrated`` takes its place, and it stays as a backup."""

        def look() -> None:
            if migrated is not None:
                _keep_backup(self.path)
                replace_file(self.path, migrated)
            self._file = self.path.stat()

        self._attempt(look)

    def write(self, line: bytes, *, worth_keeping: bool) -> None:
        """Take one line with its LF."""
        if self.problem is not None:
            return
        if self._file is None:
            self.begin([line], worth_keeping=worth_keeping)
        else:
            self._attempt(lambda: self._append(self._stored(line)))

    def close(self) -> None:
        """Let others write to the session."""
        if self._lock is not None:
            self._lock.__exit__()
            self._lock = None

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
        except FileNotFoundError:
            self._fail(f"{self.path} was removed")
        except OSError as error:
            self._fail(f"cannot write {self.path}: {error.strerror or error}")
        except PiError as problem:
            self._fail(problem.message.removesuffix("."))

    def _fail(self, reason: str) -> None:
        self._waiting.clear()
        self.problem = f"The session is no longer saved, it goes on in memory: {reason}."
        self._report(self.problem)

    def _publish(self) -> None:
        private_directory(self.path.parent)
        if self._lock is None:
            self._lock = lock_session(self.path)
        if self.path.exists() and self.path.stat().st_size:
            raise FileProblem(f"{self.path} was made by another program")
        replace_file(self.path, b"".join(self._waiting), mode=0o600)
        self._waiting.clear()
        self._file = self.path.stat()

    def _append(self, line: bytes) -> None:
        fd = os.open(self.path, _FLAGS)
        try:
            if self._file is None or not os.path.samestat(os.fstat(fd), self._file):
                raise FileProblem(f"{self.path} was replaced by another program")
            rest = memoryview(b"\n" + line if _is_torn(fd) else line)
            while rest:  # once, unless the disk is full: the second attempt then says so
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)


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
