"""Files of this machine, blocking: reading, replacing, moving, removing, scanning.

``LocalFiles`` calls these functions in threads. All raise ``OSError`` or ``FileAccessError``.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pi.base.files import (
    FileAccessError,
    open_regular,
    read_limited,
    replace_file,
    write_in_place,
)
from pi.base.records import Record
from pi.coding.files.errors import find_os_error

if TYPE_CHECKING:
    from pi.agent.env import FileInfo

NOT_REPLACEABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
"""Errors after which a file is written in place: a read-only folder, a mount point."""

EFFECTIVE_IDS = os.access in os.supports_effective_ids


class GuardedPath(Record):
    """A file to read, and the actual path that guards have agreed to."""

    path: Path
    """Absolute; for messages."""
    real: Path | None = None
    """With all links followed; ``None`` if no guard has checked it."""

    def open(self, *, buffering: int = -1) -> BinaryIO:
        """Open the file. Raises ``OSError`` if it is not the one that was checked."""
        if self.real is None:
            return open_regular(self.path, buffering=buffering)
        return open_regular(self.real, buffering=buffering, follow_links=False)


def read_whole(file: GuardedPath, *, most: int | None = None) -> bytes:
    """Return the content of a file. Blocks. Raises ``OSError``, also for pipes and large files."""
    with file.open(buffering=0 if most is not None else -1) as opened:
        return opened.read() if most is None else read_limited(opened, file.path, most)


def write_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace the content of a file; ``mode`` sets its permission bits."""
    is_new = not path.exists()
    _replace(path, data, mode if is_new else None)
    if mode is not None and not is_new:
        path.chmod(mode)


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not os.access(path, os.W_OK, effective_ids=EFFECTIVE_IDS):
        # Replacing would succeed, but the file is write-protected on purpose.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if path.is_file() and path.stat().st_nlink > 1:
        write_in_place(path, data)  # replacing would break its hard links
        return
    try:
        replace_file(path, data, mode=mode)  # by default the umask: it is the user's own file
    except FileAccessError as error:
        cause = find_os_error(error)
        if cause is None or cause.errno not in NOT_REPLACEABLE or not path.is_file():
            raise
        write_in_place(path, data)


def list_folder(folder: Path) -> list[FileInfo]:
    """Return the entries of a folder, sorted by name."""
    return [file_info(path) for path in sorted(folder.iterdir())]


def file_info(path: Path) -> FileInfo:
    """Return type, size and time of a file or folder."""
    from pi.agent.env import FileInfo

    try:
        status = path.stat()
    except OSError:
        status = path.lstat()  # a broken link
    is_file, is_folder = stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode)
    return FileInfo(
        name=path.name,
        path=os.path.normpath(path),
        kind="file" if is_file else "directory" if is_folder else "other",
        size=status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
    )


def remove_path(path: Path, *, recursive: bool = False) -> None:
    """Remove a file, a link (not its target) or a folder."""
    if not path.is_dir() or path.is_symlink():
        path.unlink()
    elif recursive:
        import shutil  # lazy: takes 5 ms to import

        shutil.rmtree(path)
    else:
        path.rmdir()


def move_path(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """Rename a file, a link or a folder; creates missing folders above ``target``.

    ``overwrite`` allows replacing a file, never a folder.
    """
    check_move(source, target, overwrite=overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil  # lazy: takes 5 ms to import, and most moves stay on one file system

        shutil.move(source, target)


def check_move(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """Raise ``OSError`` if ``source`` cannot be moved to ``target``."""
    source.lstat()
    if source.is_dir() and not source.is_symlink() and target.is_relative_to(source):
        raise OSError(errno.EINVAL, "a folder cannot be moved into itself", str(target))
    if not os.path.lexists(target) or (target.exists() and target.samefile(source)):
        return  # the same file: only upper and lower case differ
    if not overwrite or target.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def tree_paths(root: Path) -> list[Path]:
    """Return ``root`` and everything below it, the contents of a folder before the folder.

    Links are not followed.
    """
    if root.is_symlink() or not root.is_dir():
        root.lstat()
        return [root]
    inside = (path for child in sorted(root.iterdir()) for path in tree_paths(child))
    return [*inside, root]


class FileStamp(Record):
    """Size, time, mode and inode of a file; equal stamps mean that it is unchanged."""

    size: int
    modified_ns: int
    mode: int
    """Type and permission bits."""
    inode: int


MAX_SCANNED = 500_000
"""Default limit of a scan."""


def scan_tree(
    root: Path, *, skip: Callable[[str], bool], most: int, stop: threading.Event
) -> dict[str, FileStamp]:
    """Return the stamps of all files and links below ``root``, by path relative to it.

    Ends early, with the stamps so far, once ``stop`` is set. Raises ``OSError`` for more than
    ``most`` files.
    """
    stamps: dict[str, FileStamp] = {}
    for name, entry in _walk(root, "", skip):
        if stop.is_set():
            break
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # removed meanwhile
        if len(stamps) == most:
            raise OSError(errno.EFBIG, f"it holds more than {most} files", str(root))
        stamps[name] = FileStamp(
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
            mode=status.st_mode,
            inode=status.st_ino,
        )
    return stamps


def _walk(
    folder: Path | str, prefix: str, skip: Callable[[str], bool]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        name = prefix + entry.name
        if not entry.is_dir(follow_symlinks=False):
            if not skip(name):
                yield name, entry
        elif not skip(f"{name}/"):
            try:
                yield from _walk(entry.path, f"{name}/", skip)
            except OSError:
                continue  # not readable, or removed meanwhile
