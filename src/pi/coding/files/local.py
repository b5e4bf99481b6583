"""Files of this machine: resolving references of users and models, reading, replacing."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pi.base.files import FileAccessError, open_regular, read_regular, replace_file, write_in_place
from pi.base.tasks import finish_despite_cancel
from pi.coding.files.errors import find_os_error
from pi.coding.files.layers import FileChange, FileLayer, FileWritten, write_through

if TYPE_CHECKING:
    from pi.agent.env import FileErrorCode, FileInfo
System: TypeAlias = Literal["posix", "windows", "wsl"]

_DRIVE = r"(?s)([A-Za-z]):[\\/]+(.*)"
_DRIVE_AS_FOLDER = r"(?s)/(?:mnt/|cygdrive/)?([A-Za-z])(?:/(.*))?"


def expand_reference(reference: str, *, home: str, system: System = "posix") -> str:
    """Expand ``~``, ``file://`` URLs, and drive letters between Windows and WSL.

    Other references are returned unchanged; relative paths stay relative.
    """
    if reference.startswith("file://"):
        reference = _from_url(reference, system)
    if reference == "~" or reference.startswith(("~/", "~\\")):
        return home + reference[1:]
    if system == "wsl" and (drive := re.fullmatch(_DRIVE, reference)):
        return f"/mnt/{drive[1].lower()}/" + drive[2].replace("\\", "/")
    if system == "windows" and (drive := re.fullmatch(_DRIVE_AS_FOLDER, reference)):
        return f"{drive[1].upper()}:/{drive[2] or ''}"
    return reference


def strip_mention(reference: str) -> str:
    """Return ``file`` for ``@file``, the form in which users mention files in a message."""
    return reference[1:] if len(reference) > 1 and reference[0] == "@" else reference


def _from_url(url: str, system: System) -> str:
    from urllib.parse import unquote, urlsplit  # lazy: seldom needed, slow to import

    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.netloc not in ("", "localhost"):
        return url  # a file of another machine
    path = unquote(parts.path)
    with_drive = re.match(r"/[A-Za-z]:", path)
    return path[1:] if with_drive and system != "posix" else path


QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'}
DASHES = dict.fromkeys("‐‑‒–—―−", "-")
SPACES = dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000\t", " ") | {
    chr(code): " " for code in range(0x2000, 0x200B)
}
LOOKALIKES = str.maketrans(QUOTES | DASHES | SPACES)
"""Characters that keyboards and models write in place of each other."""


def visual_form(name: str) -> str:
    """Return a form that is equal for names that differ only in Unicode form, quotes or spaces.

    macOS decomposes names, and puts a narrow space before AM or PM in the name of a screenshot
    and a curly quote into its French name. Users and models do not type these characters.
    """
    import unicodedata  # lazy: most names exist exactly as given

    return re.sub(" +", " ", unicodedata.normalize("NFC", name).translate(LOOKALIKES))


def find_existing(path: Path) -> Path:
    """Return ``path``, or the only existing path that looks the same."""
    if os.path.lexists(path):
        return path
    found = Path(path.anchor)
    for part in path.relative_to(path.anchor).parts:
        step = found / part
        if not os.path.lexists(step):
            alike = _alike(found, part)
            if alike is None:
                return path
            step = found / alike
        found = step
    return found


def _alike(folder: Path, name: str) -> str | None:
    form = visual_form(name)
    try:
        alike = [each.name for each in folder.iterdir() if visual_form(each.name) == form]
    except OSError:
        return None
    return alike[0] if len(alike) == 1 else None


T = TypeVar("T")

CODES: dict[int | None, FileErrorCode] = {
    errno.ENOENT: "not_found",
    errno.EEXIST: "already_exists",
    errno.ENOTDIR: "not_a_directory",
    errno.EISDIR: "is_a_directory",
    errno.ENOTEMPTY: "not_empty",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EROFS: "permission_denied",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.ENAMETOOLONG: "invalid_path",
    errno.ELOOP: "invalid_path",
}
NOT_REPLACEABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}
"""Errors after which a file is written in place: a read-only folder, a mount point."""

EFFECTIVE_IDS = os.access in os.supports_effective_ids


class LocalFiles:
    """``pi.agent.env.FileSystem`` for this machine.

    ``cwd`` is called every time, because a session may move. Disk access happens in threads.
    """

    def __init__(
        self,
        cwd: Callable[[], Path],
        *,
        home: str,
        system: System = "posix",
        layers: Callable[[], Sequence[FileLayer]] = tuple,
    ) -> None:
        self._cwd = cwd
        self._layers = layers
        """Returns the current hooks around writes."""
        self._home = home
        self._system = system

    @property
    def cwd(self) -> str:
        """The folder that relative paths are resolved against."""
        return str(self._cwd())

    def resolve(self, reference: str) -> Path:
        """Return the absolute path for a reference; links are not followed.

        A leading ``@`` is removed unless only a file with it exists. ``~`` and ``file://`` are
        expanded. A name that does not exist resolves to one that looks the same, if there is one.
        """
        plain = self._absolute(strip_mention(reference))
        found = find_existing(plain)
        if reference.startswith("@") and not os.path.lexists(found):
            literal = self._absolute(reference)
            return literal if os.path.lexists(literal) else found
        return found

    def real(self, reference: str) -> str:
        """Return the path with all links followed: equal for every name of a file."""
        return os.path.realpath(self.resolve(reference))

    async def read_file(self, path: str, *, most: int | None = None) -> bytes:
        """Return the content of a file.

        Raises ``FileFailed`` for pipes and devices, which may never end, and for files of more
        than ``most`` bytes.
        """
        return await _on_disk(path, "read", lambda: read_whole(self.resolve(path), most=most))

    async def write_file(self, path: str, data: bytes) -> None:
        """Replace the content of a file atomically; creates missing folders.

        An existing file keeps its mode and owner, and is unchanged after a failure. A write that
        has begun is finished even if the caller is cancelled.
        """
        if layers := self._layers():
            await self._write_through(layers, path, data)
        else:
            await self._write(path, data)

    async def stat(self, path: str) -> FileInfo:
        """Return type, size and time of a file or folder."""
        return await _on_disk(path, "look at", lambda: _info(self.resolve(path)))

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        return await _on_disk(path, "list", lambda: _listed(self.resolve(path)))

    async def exists(self, path: str) -> bool:
        """Whether the path exists; a broken link counts."""
        return await _on_disk(path, "look at", lambda: os.path.lexists(self.resolve(path)))

    async def mkdir(self, path: str) -> None:
        """Create a folder and its parents, if missing."""
        await _on_disk(path, "make", lambda: self.resolve(path).mkdir(parents=True, exist_ok=True))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link (not its target) or a folder."""
        await _on_disk(path, "remove", lambda: _remove(self.resolve(path), recursive=recursive))

    async def real_path(self, path: str) -> str:
        """Return the absolute path with all links followed; the file may be missing."""
        return await _on_disk(path, "follow", lambda: self.real(path))

    def link_note(self, reference: str) -> str:
        """Return a note about a link that leads out of the working directory, else an empty text.

        A path that is itself outside needs no note.
        """
        folder, real = self._cwd(), Path(self.real(reference))
        if not self.resolve(reference).is_relative_to(folder):
            return ""
        if real.is_relative_to(os.path.realpath(folder)):
            return ""
        return f"\nNote: {reference} is a link out of the working folder; the file is {real}."

    async def _write(self, path: str, data: bytes) -> None:
        work = _on_disk(path, "write", lambda: _write(self.resolve(path), data))
        await finish_despite_cancel(work)

    async def _write_through(self, layers: Sequence[FileLayer], path: str, data: bytes) -> None:
        async def write(change: FileChange) -> FileWritten:
            await self._write(str(change.path), change.after)
            return FileWritten()

        target = self.resolve(path)
        before = await self.read_file(path) if target.is_file() else None
        await write_through(layers, FileChange(path=target, before=before, after=data), write)

    def _absolute(self, reference: str) -> Path:
        path = expand_reference(reference, home=self._home, system=self._system)
        return Path(os.path.normpath(self._cwd() / path))


def read_whole(path: Path, *, most: int | None = None) -> bytes:
    """Return the content of a file. Blocks. Raises ``OSError``, also for pipes and large files."""
    if most is not None:
        return read_regular(path, max_bytes=most)
    with open_regular(path) as file:
        return file.read()


async def _on_disk(path: str, doing: str, work: Callable[[], T]) -> T:
    with _coded(path, doing):
        return await asyncio.to_thread(work)


@contextmanager
def _coded(path: str, doing: str) -> Iterator[None]:
    from pi.agent.env import FileError, FileFailed

    try:
        yield
    except (OSError, FileAccessError) as error:
        cause = find_os_error(error) if isinstance(error, FileAccessError) else error
        code = CODES.get(cause.errno if cause else None, "unknown")
        message = f"Cannot {doing} {path}: {cause.strerror or cause}." if cause else str(error)
        raise FileFailed(FileError(code=code, message=message, path=path)) from error
    except ValueError as error:  # a zero byte
        message = f"Cannot {doing} {path!r}: no file can have this name."
        failure = FileError(code="invalid_path", message=message, path=path)
        raise FileFailed(failure) from error


def _write(path: Path, data: bytes) -> None:
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
        replace_file(path, data, mode=None)  # the user's own file
    except FileAccessError as error:
        cause = find_os_error(error)
        if cause is None or cause.errno not in NOT_REPLACEABLE or not path.is_file():
            raise
        write_in_place(path, data)


def _listed(folder: Path) -> list[FileInfo]:
    return [_info(path) for path in sorted(folder.iterdir())]


def _info(path: Path) -> FileInfo:
    from pi.agent.env import FileInfo

    try:
        found = path.stat()
    except OSError:
        found = path.lstat()  # a broken link
    is_file, is_folder = stat.S_ISREG(found.st_mode), stat.S_ISDIR(found.st_mode)
    return FileInfo(
        name=path.name,
        path=os.path.normpath(path),
        kind="file" if is_file else "directory" if is_folder else "other",
        size=found.st_size,
        modified_ms=found.st_mtime_ns // 1_000_000,
    )


def _remove(path: Path, *, recursive: bool) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink()
    elif recursive:
        import shutil  # lazy: takes 5 ms to import

        shutil.rmtree(path)
    else:
        path.rmdir()
