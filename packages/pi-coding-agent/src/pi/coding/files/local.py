"""Files of this machine: reading and replacing them, through the hooks of extensions."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pi.base.files import FileAccessError
from pi.base.records import replace
from pi.base.tasks import finish_despite_cancel
from pi.coding.files import disk
from pi.coding.files.disk import FileStamp, GuardedPath
from pi.coding.files.errors import find_os_error
from pi.coding.files.layers import (
    FileChange,
    FileLayer,
    FileRead,
    FileWritten,
    OpenText,
    ReadGuard,
    running_call,
    through,
    write_through,
)
from pi.coding.files.references import System, expand_reference, find_existing, strip_mention

if TYPE_CHECKING:
    from pi.agent.env import FileError, FileErrorCode, FileInfo
    from pi.agent.tools.effects import CallEffects, FileEffect

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
        reads: Callable[[], Sequence[OpenText]] = tuple,
        guards: Callable[[], Sequence[ReadGuard]] = tuple,
    ) -> None:
        self._cwd = cwd
        self._reads = reads
        """Returns the current readers of files with unsaved changes."""
        self._layers = layers
        """Returns the current hooks around writes."""
        self._guards = guards
        """Returns the current guards of reads."""
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
        plain = self._make_absolute(strip_mention(reference))
        existing = find_existing(plain)
        if reference.startswith("@") and not os.path.lexists(existing):
            literal = self._make_absolute(reference)
            return literal if os.path.lexists(literal) else existing
        return existing

    def real(self, reference: str) -> str:
        """Return the path with all links followed: equal for every name of a file."""
        return os.path.realpath(self.resolve(reference))

    # Effects and guards ---------------------------------------------------------------------------

    def effect(
        self, reference: str, *, writes: bool = False, below: bool = False, member: str = ""
    ) -> FileEffect:
        """Return the file that a call with this reference uses, found as the methods below do."""
        from pi.agent.tools.effects import FileEffect

        path = self.resolve(reference)
        return FileEffect(
            path=str(path), real=os.path.realpath(path), writes=writes, below=below, member=member
        )

    def effects(self, *files: FileEffect) -> CallEffects:
        """Return the effects of a call that uses these files."""
        from pi.agent.tools.effects import CallEffects

        return CallEffects(files=files, cwd=self.cwd)

    async def permit_read(self, reference: str) -> GuardedPath:
        """Return the file that a reference names, after all guards have agreed to its actual path.

        Outside of a tool call nothing is checked: pi and the user may read everything. Raises
        ``ToolFailed`` if a guard refuses.
        """
        path, guards, call = self.resolve(reference), self._guards(), running_call()
        if not guards or not call:
            return GuardedPath(path=path)
        real = await asyncio.to_thread(os.path.realpath, path)
        read = FileRead(path=path, real=real, cwd=self.cwd, call_id=call)
        for guard in guards:
            await guard.check(read)
        return GuardedPath(path=path, real=Path(real))

    def visibility(self) -> Callable[[Path], bool] | None:
        """Return which files a search of the running call may show; ``None`` if all of them."""
        return self.visible_to_model() if running_call() else None

    def visible_to_model(self) -> Callable[[Path], bool] | None:
        """Return which files may be shown to the model unasked; ``None`` if all of them."""
        hidden = [
            is_hidden_by_guard
            for guard in self._guards()
            if (is_hidden_by_guard := guard.hidden(self.cwd)) is not None
        ]
        if not hidden:
            return None

        def is_visible(path: Path) -> bool:
            text = os.path.normpath(path)
            real = os.path.realpath(text)
            return not any(is_hidden(text, real) for is_hidden in hidden)

        return is_visible

    # Reading --------------------------------------------------------------------------------------

    async def read_file(self, path: str, *, most: int | None = None) -> bytes:
        """Return the content of a file.

        Raises ``FileFailed`` for pipes and devices, which may never end, and for files of more
        than ``most`` bytes; ``ToolFailed`` if a guard refuses the read to the running tool call.
        """
        guarded = await self.permit_read(path)
        if (text := await self._open_text(guarded.path)) is not None:
            return text
        return await _on_disk(path, "read", lambda: disk.read_whole(guarded, most=most))

    async def read_open(self, path: str) -> bytes | None:
        """Return the text of a file that is open elsewhere, unsaved changes included.

        ``None`` if no extension has the file open: its content is on disk.
        """
        return await self._open_text((await self.permit_read(path)).path)

    async def _open_text(self, path: Path) -> bytes | None:
        for read in self._reads():
            if (text := await read(path)) is not None:
                return text.encode("utf-8", "replace")
        return None

    async def read_many(
        self, paths: Iterable[str], *, most: int | None = None
    ) -> dict[str, bytes | FileError]:
        """Return the contents of many files, read in one thread; an error in place of a content.

        ``most`` limits the bytes of each file.
        """
        requested, stop = tuple(paths), threading.Event()
        refused: dict[str, FileError] = {}
        guarded_paths = {path: await self._permit_path(path, refused) for path in requested}

        def read() -> dict[str, bytes | FileError]:
            return {
                path: refused.get(path) or _read_content(path, guarded, most)
                for path, guarded in guarded_paths.items()
                if not stop.is_set()
            }

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
        folder = (await self.permit_read(root)).path
        is_visible = self.visibility()
        try:
            stamps = await _on_disk(
                root, "scan", lambda: disk.scan_tree(folder, skip=skip, most=most, stop=stop)
            )
        finally:
            stop.set()
        if is_visible is None:
            return stamps
        return {name: stamp for name, stamp in stamps.items() if is_visible(folder / name)}

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace the content of a file atomically; creates missing folders.

        An existing file keeps its mode and owner, unless ``mode`` sets its permission bits, and is
        unchanged after a failure. A write that has begun is finished even if the caller is
        cancelled.
        """
        if layers := self._layers():
            change = await self._describe_change(self.resolve(path), after=data, mode=mode)
            await write_through(layers, change, self._apply)
            return
        work = _on_disk(path, "write", lambda: disk.write_whole(self.resolve(path), data, mode))
        await finish_despite_cancel(work)

    async def stat(self, path: str) -> FileInfo:
        """Return type, size and time of a file or folder."""
        return await _on_disk(path, "look at", lambda: disk.file_info(self.resolve(path)))

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        folder, is_visible = (await self.permit_read(path)).path, self.visibility()
        entries = await _on_disk(path, "list", lambda: disk.list_folder(folder))
        if is_visible is None:
            return entries
        return [entry for entry in entries if is_visible(folder / entry.name)]

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
            with _file_errors(path, "remove"):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        for entry_path in paths:
            await write_through(
                layers, await self._describe_change(entry_path, after=None), self._apply
            )

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
        for entry_path in await _on_disk(source, "move", lambda: disk.tree_paths(origin)):
            await self._move_through(layers, entry_path, goal / entry_path.relative_to(origin))

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

    async def _describe_change(
        self, path: Path, *, after: bytes | None, mode: int | None = None
    ) -> FileChange:
        """Return a change for the layers, with the content that the file has now.

        ``before`` is ``None`` for folders, and for links that are removed.
        """
        is_link = after is None and path.is_symlink()  # a write follows it, a removal does not
        # A removal changes the folder that holds the link, not the file that the link leads to.
        real = str(real_parent(path) if is_link else os.path.realpath(path))
        change = FileChange(path=path, before=None, after=after, mode=mode, real=real, cwd=self.cwd)
        if is_link or not path.is_file():
            return change
        before = await self._open_text(path)
        if before is None:  # for the layers, not for the tool: guards decide about the write
            guarded = GuardedPath(path=path)
            before = await _on_disk(str(path), "read", lambda: disk.read_whole(guarded))
        old = stat.S_IMODE(path.stat().st_mode)
        return replace(change, before=before, old_mode=old)

    async def _apply(self, change: FileChange) -> FileWritten:
        path, data = change.path, change.after
        if data is not None and change.real and os.path.realpath(path) != change.real:
            # The layers have agreed to another file: a link was put in place meanwhile.
            with _file_errors(str(path), "write"):
                raise OSError(errno.ELOOP, "it now leads to another file", str(path))
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
        removal = await self._describe_change(source, after=None)
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
            creation = await self._describe_change(target, after=content, mode=mode)
            return await through(layers, creation, write)

        await write_through(layers, removal, create)

    async def _permit_path(self, path: str, refused: dict[str, FileError]) -> GuardedPath:
        """Return a file to read; adds the error of a guard that refuses it to ``refused``."""
        from pi.agent.env import FileError
        from pi.agent.tools.tool import ToolFailed

        try:
            return await self.permit_read(path)
        except ToolFailed as error:
            refused[path] = FileError(code="permission_denied", message=error.message, path=path)
            return GuardedPath(path=self.resolve(path))

    def _make_absolute(self, reference: str) -> Path:
        path = expand_reference(reference, home=self._home, system=self._system)
        return Path(os.path.normpath(self._cwd() / path))


def _read_content(path: str, guarded: GuardedPath, most: int | None) -> bytes | FileError:
    from pi.agent.env import FileFailed

    try:
        with _file_errors(path, "read"):
            return disk.read_whole(guarded, most=most)
    except FileFailed as failed:
        return failed.error


def real_parent(path: Path) -> Path:
    """Return ``path`` with the links of its folder followed, not its own."""
    return Path(os.path.realpath(path.parent), path.name)


async def _on_disk(path: str, doing: str, work: Callable[[], T]) -> T:
    with _file_errors(path, doing):
        return await asyncio.to_thread(work)


@contextmanager
def _file_errors(path: str, doing: str) -> Iterator[None]:
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
