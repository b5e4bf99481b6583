"""File errors in the format of Node, which models know from training. Pure."""

from __future__ import annotations

import errno

from pi.base.errors import PiError

MESSAGES = {
    errno.EACCES: "permission denied",
    errno.EBUSY: "resource busy or locked",
    errno.EEXIST: "file already exists",
    errno.EFBIG: "file too large",
    errno.EINVAL: "invalid argument",
    errno.EIO: "i/o error",
    errno.EISDIR: "illegal operation on a directory",
    errno.ELOOP: "too many symbolic links encountered",
    errno.EMFILE: "too many open files",
    errno.ENAMETOOLONG: "name too long",
    errno.ENFILE: "file table overflow",
    errno.ENODEV: "no such device",
    errno.ENOENT: "no such file or directory",
    errno.ENOSPC: "no space left on device",
    errno.ENOTDIR: "not a directory",
    errno.ENOTEMPTY: "directory not empty",
    errno.ENXIO: "no such device or address",
    errno.EPERM: "operation not permitted",
    errno.EROFS: "read-only file system",
    errno.ETXTBSY: "text file is busy",
    errno.EXDEV: "cross-device link not permitted",
}


def node_code(error: OSError) -> str:
    """Return the symbolic code, such as ``ENOENT``."""
    return errno.errorcode.get(error.errno or 0, "UNKNOWN")


def node_text(error: OSError, call: str, path: str = "") -> str:
    """Return a message such as ``ENOENT: no such file or directory, access '/a/b'``."""
    description = MESSAGES.get(error.errno or 0) or (error.strerror or str(error)).lower()
    path_suffix = f" '{path}'" if path else ""
    return f"{node_code(error)}: {description}, {call}{path_suffix}"


def find_os_error(error: PiError) -> OSError | None:
    """Return the ``OSError`` among the causes of ``error``, if there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    return cause
