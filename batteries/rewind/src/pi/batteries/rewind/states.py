"""The state of a path: a file, a link, a folder or nothing. Reads and restores it.

All functions block. Links are never followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.extension import Record, replace_file

UNSAVED = "?"
"""Begins the hash of a file whose content is not saved; size and time follow."""
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not wait for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
RACY_NS = 50_000_000
COARSE_RACY_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again with the same stamp.

Time stamps of a file system advance in ticks, of two seconds in the worst case.
"""

Stamp: TypeAlias = tuple[int, int, int, int, int]
"""Size, times of content and status, mode and inode: changes with every change of a file."""
NO_STAMP: Stamp = (-1, 0, 0, 0, 0)
"""Differs from every stamp: the path is read at the next capture."""


class FileState(Record):
    """The state of an existing path. ``None`` in its place: the path does not exist."""

    kind: Literal["file", "link", "folder"]
    mode: int = 0
    """The permission bits; 0 for links."""
    hash: str = ""
    """SHA-256 of the content of a file; ``?…`` if it is not saved."""
    size: int = 0
    target: str = ""
    """Target of a link."""

    @property
    def is_saved(self) -> bool:
        """Whether it can be restored later."""
        return self.kind != "file" or not self.hash.startswith(UNSAVED)

    def encode(self) -> list[Any]:
        """The form in files of the store."""
        if self.kind == "file":
            return ["f", self.mode, self.hash, self.size]
        return ["l", self.target] if self.kind == "link" else ["d", self.mode]


def decode_state(value: Any) -> FileState | None:
    """The state of ``encode``; raises ``ValueError`` for anything else."""
    match value:
        case None:
            return None
        case ["f", int(mode), str(hash), int(size)]:
            return FileState(kind="file", mode=mode, hash=hash, size=size)
        case ["l", str(target)]:
            return FileState(kind="link", target=target)
        case ["d", int(mode)]:
            return FileState(kind="folder", mode=mode)
    raise ValueError(f"not a state of a file: {value!r}")


class Reading:
    """A state with the stamp and the content that belong to it."""

    __slots__ = ("data", "is_racy", "stamp", "state")

    def __init__(
        self, state: FileState, stamp: Stamp, data: bytes | None = None, *, is_racy: bool = False
    ) -> None:
        self.state = state
        self.stamp = stamp
        self.data = data
        """The content of a file; ``None`` if it is too large or cannot be read."""
        self.is_racy = is_racy
        """Whether the file may change with the same stamp: it has to be read again next time."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of a file or link. A folder changes with its content: only its mode counts."""
    if stat.S_ISDIR(status.st_mode):
        return (0, 0, 0, status.st_mode, 0)
    return (
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
        status.st_ino,
    )


def read_path(path: Path, *, max_bytes: int) -> Reading | None:
    """The present state of a path; ``None`` if it does not exist, or is e.g. a pipe."""
    for _ in range(3):
        try:
            return _read(path, max_bytes)
        except _ChangedMeanwhile:
            continue
        except OSError as error:
            if error.errno not in _NOTHING:
                return unsaved_reading(path.lstat())  # not readable
    try:
        return unsaved_reading(path.lstat())
    except OSError:
        return None


class _ChangedMeanwhile(Exception):
    """The file was written while it was read."""


def _read(path: Path, max_bytes: int) -> Reading | None:
    try:
        status = path.lstat()
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    if stat.S_ISDIR(status.st_mode):
        state = FileState(kind="folder", mode=stat.S_IMODE(status.st_mode))
        return Reading(state, stamp_of(status))
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)  # noqa: PTH115 - a Path would shorten ./a
        return Reading(FileState(kind="link", target=target), stamp_of(status))
    return _read_file(path, status, max_bytes) if stat.S_ISREG(status.st_mode) else None


def unsaved_reading(status: os.stat_result) -> Reading:
    """A file whose content is not saved. Its next change is still noticed."""
    hash = f"{UNSAVED}{status.st_size}-{status.st_mtime_ns}"
    mode = stat.S_IMODE(status.st_mode)
    return Reading(
        FileState(kind="file", mode=mode, hash=hash, size=status.st_size), stamp_of(status)
    )


def _read_file(path: Path, status: os.stat_result, max_bytes: int) -> Reading:
    """The content and its stamp. Raises ``_ChangedMeanwhile``."""
    if status.st_size > max_bytes:
        return unsaved_reading(status)
    fd = os.open(path, _FLAGS)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise _ChangedMeanwhile
        data = _read_all(fd, max_bytes + 1)
        now_ns = time.time_ns()
        after = os.fstat(fd)
    finally:
        os.close(fd)
    if len(data) > max_bytes:
        return unsaved_reading(after)
    if stamp_of(before) != stamp_of(after) or len(data) != after.st_size:
        raise _ChangedMeanwhile
    hash = hashlib.sha256(data).hexdigest()
    state = FileState(kind="file", mode=stat.S_IMODE(after.st_mode), hash=hash, size=after.st_size)
    return Reading(state, stamp_of(after), data, is_racy=is_racy(after, now_ns))


def _read_all(fd: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(fd, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def is_racy(status: os.stat_result, now_ns: int) -> bool:
    """Whether a file that was read just now may change again with the same stamp."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    is_coarse = status.st_mtime_ns % 1_000_000_000 == 0
    return now_ns - changed < (COARSE_RACY_NS if is_coarse else RACY_NS)


# Restoring ----------------------------------------------------------------------------------------


def remove(path: Path, state: FileState) -> None:
    """Remove the file, link or folder at ``path``. A folder must be empty."""
    if state.kind == "folder":
        path.rmdir()
    else:
        path.unlink()


def put(path: Path, state: FileState, data: bytes | None) -> None:
    """Create or replace a file, a link or a folder; atomic for files and links."""
    if state.kind == "folder":
        path.mkdir(exist_ok=True)
        path.chmod(state.mode | stat.S_IRWXU)  # writable, because its content is written next
        return
    if state.kind == "link":
        temporary = path.with_name(f".pi-{os.urandom(8).hex()}.tmp")
        temporary.symlink_to(state.target)
        temporary.replace(path)
        return
    assert data is not None
    replace_file(path, data, mode=state.mode)
    path.chmod(state.mode)  # an existing file keeps its mode otherwise


def is_leftover(name: str) -> bool:
    """Whether a name is that of a temporary file, which a killed write may leave behind."""
    return len(name) == 24 and name.startswith(".pi-") and name.endswith(".tmp")
