"""Safe file access: bounded reading, atomic replacement, the agent directory.

FileAccessError                    a file cannot be read, written or locked
└── base.locks.FileLocked          another process holds the lock, or took it over
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pi.base.errors import PiError

PRIVATE = 0o600
"""The mode of every file in the agent directory, independent of the umask."""
OTHERS_MAY_WRITE = 0o022

MAX_READ_BYTES = 4 * 1024 * 1024
"""Limit for files that users write and pi reads on its own: settings, rules, git's files."""
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

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


def open_regular(path: Path, *, buffering: int = -1, follow_links: bool = True) -> BinaryIO:
    """Open a regular file for reading; raises ``OSError`` for a pipe, a socket or a device.

    Reading those may never end, and opening a pipe waits for a writer. A repository can contain
    links to ``/dev/zero``, so any path may lead to one. Without ``follow_links`` a link anywhere
    in the absolute path is an error: the path was checked without one.
    """
    opener = _open_regular if follow_links else _open_regular_without_links
    return open(path, "rb", buffering=buffering, opener=opener)


def _open_regular(path: str, flags: int) -> int:
    return _checked_regular(os.open(path, flags | _WITHOUT_WAITING), path)


def _open_regular_without_links(path: str, flags: int) -> int:
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_PATH"):
        if os.path.realpath(path) != path:
            raise _linked(path)
        return _open_regular(path, flags)
    # Folder by folder, because O_NOFOLLOW concerns the last part of a path only.
    folder = os.open("/", os.O_PATH | os.O_DIRECTORY)
    *parents, name = [part for part in path.split("/") if part] or ["."]
    try:
        for part in parents:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        fd = os.open(name, flags | _WITHOUT_WAITING | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.realpath(path) != path:
            raise _linked(path) from error
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        os.close(folder)
    return _checked_regular(fd, path)


def _linked(path: str) -> OSError:
    return OSError(errno.ELOOP, "a link was put into its path after it was checked", path)


def _checked_regular(fd: int, path: str) -> int:
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # opening a directory raises Python's own error
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is a device or a pipe, not a regular file", path)


def read_regular(path: Path, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
    """Return the content of a regular file; raises ``OSError`` if it exceeds ``max_bytes``."""
    with open_regular(path, buffering=0) as file:
        return read_limited(file, path, max_bytes)


def read_limited(file: BinaryIO, path: Path, max_bytes: int) -> bytes:
    """Return the content of an open file; raises ``OSError`` if it exceeds ``max_bytes``."""
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
    """Return the content of a regular file, or None if there is none.

    Raises ``FileAccessError`` if the file cannot be read or is too large.
    """
    try:
        return read_regular(path, max_bytes=max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise access_error("read", path, error) from error


def expand_home(path: str | Path, *, strict: bool = True) -> Path:
    """Return ``path`` with ``~`` and ``~user`` replaced.

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


def config_root(environ: Mapping[str, str]) -> Path:
    """Return the folder below the user's home that holds all files of pi."""
    home = Path(environ.get("HOME") or Path.home())
    return home / expand_home(environ.get("PI_CONFIG_DIR") or ".pi")


def agent_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of the user's settings, credentials, sessions and models."""
    default = config_root(environ) / "agent"
    return expand_home(environ.get("PI_CODING_AGENT_DIR") or default)


def is_special_file(path: Path) -> bool:
    """Whether ``path`` is a pipe, a socket or a device: opening or reading it can block for
    ever."""
    status = stat_if_exists(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def private_directory(path: Path) -> Path:
    """Return ``path`` as a directory; creates missing parts with access for the owner only."""
    try:
        for missing in reversed([p for p in (path, *path.parents) if not p.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise access_error("create the directory", path, error) from error
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
    temporary = target.with_name(f".pi-{os.urandom(8).hex()}.tmp")
    try:
        old = stat_if_exists(target)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise FileAccessError(f"Cannot write {path}: it is not a regular file.")
        _write_new(temporary, data, old=old, mode=mode)
        if old is not None:
            _copy_attributes(target, temporary)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise access_error("write", path, error) from error
        raise
    _sync_directory(target.parent)


def replace_files(
    contents: Mapping[Path, bytes], *, modes: Mapping[Path, int] | None = None
) -> None:
    """Write many files, each atomically, with one flush for all.

    They are private. With ``modes``, for the user's own files, they get these modes, and existing
    ones keep their extended attributes and, where permitted, their owner. Links are not followed.
    A failure leaves no file half written; some may be in place already.
    """
    temporary_files: dict[Path, Path] = {}
    try:
        for path, data in contents.items():
            temporary = path.with_name(f".pi-{os.urandom(8).hex()}.tmp")
            temporary_files[path] = temporary
            with open(temporary, "xb", opener=open_private) as file:
                file.write(data)
                if modes is not None:
                    file.flush()
                    _set_status(file.fileno(), temporary, like=path, mode=modes[path])
        _flush(list(temporary_files.values()))
        for path, temporary in temporary_files.items():
            temporary.replace(path)
    except OSError as error:
        raise access_error("write", path, error) from error
    finally:
        for temporary in temporary_files.values():
            with suppress(OSError):
                temporary.unlink()
    for folder in {path.parent for path in temporary_files}:
        _sync_directory(folder)


def _set_status(fd: int, new: Path, *, like: Path, mode: int) -> None:
    """Give a new file its mode, and what it keeps of the file that it replaces."""
    with suppress(FileNotFoundError):
        old = like.lstat()
        if stat.S_ISREG(old.st_mode):
            if sys.platform != "win32":
                _keep_owner(fd, old)
            _copy_attributes(like, new)
    new.chmod(mode)  # last: writing and chown clear special bits


_FEW = 8
"""Maximum of files that are flushed one by one; a flush of the file system costs other data too."""


def _flush(paths: list[Path]) -> None:
    if len(paths) > _FEW:
        by_device = {path.lstat().st_dev: path for path in paths}
        if all(_sync_file_system(path.parent) for path in by_device.values()):
            return
    for path in paths:
        with path.open("r+b") as file:
            os.fsync(file.fileno())


def _sync_file_system(folder: Path) -> bool:
    """Flush a whole file system; returns False where that is not possible."""
    if sys.platform != "linux":
        return False
    import ctypes  # lazy: Python has no syncfs, and few programs write so many files

    fd = os.open(folder, os.O_RDONLY)
    try:
        return bool(ctypes.CDLL(None).syncfs(fd) == 0)
    except AttributeError:  # another C library
        return False
    finally:
        os.close(fd)


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
        raise access_error("write", path, error) from error


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


def stat_if_exists(path: Path) -> os.stat_result | None:
    """Return the status of the file at ``path``, links followed, or None if there is none."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def access_error(action: str, path: Path, error: OSError) -> FileAccessError:
    """Return the error for the user, with a hint if the cause is a common one."""
    return FileAccessError(
        f"Cannot {action} {path}: {error.strerror or error}.", hint=HINTS.get(error.errno or 0, "")
    )
