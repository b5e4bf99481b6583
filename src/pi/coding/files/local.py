"""Files of this machine: resolving references of users and models, reading, replacing."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pi.base.files import FileAccessError
from pi.base.tasks import finish_despite_cancel
from pi.coding.files import disk
from pi.coding.files.disk import FileStamp
from pi.coding.files.errors import find_os_error
from pi.coding.files.layers import (
    FileChange,
    FileLayer,
    FileRead,
    FileWritten,
    through,
    write_through,
)

if TYPE_CHECKING:
    from pi.agent.env import FileError, FileErrorCode, FileInfo
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
            alike = _similar_name(found, part)
            if alike is None:
                return path
            step = found / alike
        found = step
    return found


def _similar_name(folder: Path, name: str) -> str | None:
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
        reads: Callable[[], Sequence[FileRead]] = tuple,
    ) -> None:
        self._cwd = cwd
        self._reads = reads
        """Returns the current readers of files with unsaved changes."""
        self._layers = layers
        """Returns the current hooks around writes."""
        self._home = home
        self._system = system

    @property
    def cwd(self) -> str:
        """The folder that relative paths are resolved against."""
        return str(self._cwd())

    @property
    def is_layered(self) -> bool:
        """Whether extensions may change what is written."""
        return bool(self._layers())

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
        if (text := await self.read_open(path)) is not None:
            return text
        return await _on_disk(path, "read", lambda: disk.read_whole(self.resolve(path), most=most))

    async def read_open(self, path: str) -> bytes | None:
        """Return the text of a file that is open elsewhere, unsaved changes included.

        ``None`` if no extension has the file open: its content is on disk.
        """
        for read in self._reads():
            if (text := await read(self.resolve(path))) is not None:
                return text.encode("utf-8", "replace")
        return None

    async def read_many(
        self, paths: Iterable[str], *, most: int | None = None
    ) -> dict[str, bytes | FileError]:
        """Return the contents of many files, read in one thread; an error in place of a content.

        ``most`` limits the bytes of each file.
        """
        requested, stop = tuple(paths), threading.Event()

        def read() -> dict[str, bytes | FileError]:
            return {path: self._content(path, most) for path in requested if not stop.is_set()}

        try:
            return await asyncio.to_thread(read)
        finally:
            stop.set()  # a thread cannot be cancelled

    async def scan(
        self,
        root: str = ".",
        *,
        skip: Callable[[str], bool] = ".git/".__eq__,
        most: int = disk.MAX_SCANNED,
    ) -> dict[str, FileStamp]:
        """Return a stamp of every file below a folder, by path relative to it.

        Two scans show what a command has changed. Links are not followed. ``skip`` gets relative
        paths, those of folders with a slash at the end.
        """
        stop = threading.Event()
        folder = self.resolve(root)
        try:
            return await _on_disk(
                root, "scan", lambda: disk.scan_tree(folder, skip=skip, most=most, stop=stop)
            )
        finally:
            stop.set()

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace the content of a file atomically; creates missing folders.

        An existing file keeps its mode and owner, unless ``mode`` sets its permission bits, and is
        unchanged after a failure. A write that has begun is finished even if the caller is
        cancelled.
        """
        if layers := self._layers():
            change = await self._described(self.resolve(path), after=data, mode=mode)
            await write_through(layers, change, self._apply)
            return
        work = _on_disk(path, "write", lambda: disk.write_whole(self.resolve(path), data, mode))
        await finish_despite_cancel(work)

    async def stat(self, path: str) -> FileInfo:
        """Return type, size and time of a file or folder."""
        return await _on_disk(path, "look at", lambda: disk.file_info(self.resolve(path)))

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        return await _on_disk(path, "list", lambda: disk.list_folder(self.resolve(path)))

    async def exists(self, path: str) -> bool:
        """Whether the path exists; a broken link counts."""
        return await _on_disk(path, "look at", lambda: os.path.lexists(self.resolve(path)))

    async def mkdir(self, path: str) -> None:
        """Create a folder and its parents, if missing."""
        await _on_disk(path, "make", lambda: self.resolve(path).mkdir(parents=True, exist_ok=True))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link (not its target) or a folder.

        File layers see each file of a folder as a change of its own.
        """
        target = self.resolve(path)
        layers = self._layers()
        if not layers:
            await _on_disk(path, "remove", lambda: disk.remove_path(target, recursive=recursive))
            return
        paths = await _on_disk(path, "remove", lambda: disk.tree_paths(target))
        if len(paths) > 1 and not recursive:
            with _coded(path, "remove"):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        for each in paths:
            await write_through(layers, await self._described(each, after=None), self._apply)

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        """Move or rename a file, a link or a folder; creates missing folders.

        ``overwrite`` allows replacing a file, never a folder. File layers see each file twice,
        as removed and as written, before it is moved.
        """
        origin, goal, layers = self.resolve(source), self.resolve(target), self._layers()
        move = partial(disk.move_path, origin, goal, overwrite=overwrite)
        if not layers:
            await finish_despite_cancel(_on_disk(source, "move", move))
            return
        await _on_disk(source, "move", lambda: disk.check_move(origin, goal, overwrite=overwrite))
        for each in await _on_disk(source, "move", lambda: disk.tree_paths(origin)):
            await self._move_through(layers, each, goal / each.relative_to(origin))

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

    async def _described(
        self, path: Path, *, after: bytes | None, mode: int | None = None
    ) -> FileChange:
        """Return a change for the layers, with the content that the file has now.

        ``before`` is ``None`` for folders, and for links that are removed.
        """
        is_link = after is None and path.is_symlink()  # a write follows it, a removal does not
        if is_link or not path.is_file():
            return FileChange(path=path, before=None, after=after, mode=mode)
        before = await self.read_file(str(path))
        old = stat.S_IMODE(path.stat().st_mode)
        return FileChange(path=path, before=before, after=after, mode=mode, old_mode=old)

    async def _apply(self, change: FileChange) -> FileWritten:
        path, data = change.path, change.after
        if data is None:
            work = _on_disk(str(path), "remove", partial(disk.remove_path, path))
        else:
            write = partial(disk.write_whole, path, data, change.mode)
            work = _on_disk(str(path), "write", write)
        await finish_despite_cancel(work)
        return FileWritten()

    async def _move_through(self, layers: Sequence[FileLayer], source: Path, target: Path) -> None:
        """Move a file or link. A folder, empty by now, is created at ``target`` and removed.

        The removal passes the layers first, and inside of it the write: nothing is changed before
        all layers have agreed to both.
        """
        removal = await self._described(source, after=None)
        if removal.before is None:  # a link or a folder

            async def place(change: FileChange) -> FileWritten:
                move = partial(disk.move_path, source, target, overwrite=True)
                if source.is_dir() and not source.is_symlink():
                    target.mkdir(parents=True, exist_ok=True)
                    move = partial(disk.remove_path, source)
                await finish_despite_cancel(_on_disk(str(source), "move", move))
                return FileWritten()

            await write_through(layers, removal, place)
            return
        content, mode = removal.before, removal.old_mode

        async def write(change: FileChange) -> FileWritten:
            if change.path == target and change.after == content and change.mode == mode:
                move = partial(disk.move_path, source, target, overwrite=True)
                await finish_despite_cancel(_on_disk(str(source), "move", move))
                return FileWritten()
            await self._apply(change)
            return await self._apply(removal)

        async def create(change: FileChange) -> FileWritten:
            creation = await self._described(target, after=content, mode=mode)
            return await through(layers, creation, write)

        await write_through(layers, removal, create)

    def _content(self, path: str, most: int | None) -> bytes | FileError:
        from pi.agent.env import FileFailed

        try:
            with _coded(path, "read"):
                return disk.read_whole(self.resolve(path), most=most)
        except FileFailed as failed:
            return failed.error

    def _absolute(self, reference: str) -> Path:
        path = expand_reference(reference, home=self._home, system=self._system)
        return Path(os.path.normpath(self._cwd() / path))


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
