"""Lists of files: limits and notices of results, the walk below a folder, fd and ripgrep."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.tools.tool import ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.base.files import is_special_file
from pi.base.records import Record
from pi.coding.files.disk import EFFECTIVE_IDS
from pi.coding.files.errors import node_text
from pi.coding.other_agents import repository_of
from pi.coding.resources.ignore import IgnoreTree
from pi.coding.shell.output import keep_head
from pi.coding.shell.spill import size_text
from pi.coding.tools.programs import (
    RG_QUIET_EXIT_CODES,
    ProgramFailed,
    SearchPrograms,
    read_program_output,
)

log = logging.getLogger(__name__)


REFINE = ", or refine pattern"
"""Further advice in the notice of a search with too many results."""


class LimitNotice(NamedTuple):
    """A limit that was reached."""

    detail: str
    """Its name in the result details."""
    value: Any
    notice: str


def limit_or_default(limit: float | UnsetType, default: int) -> int:
    """Return the ``limit`` argument of a call, at least 1."""
    return default if isinstance(limit, UnsetType) else max(int(limit), 1)


def limit_notice(
    limit: int, count: int, names: tuple[str, str], advice: str = ""
) -> LimitNotice | None:
    """Return a notice if ``count`` exceeds ``limit``; ``names`` are singular and plural."""
    if count <= limit:
        return None
    one, many = names
    notice = f"{limit} {many} limit reached. Use limit={2 * limit} for more{advice}"
    return LimitNotice(f"{one}LimitReached", limit, notice)


def list_result(lines: Sequence[str], *limited: LimitNotice | None) -> ToolResult:
    """Return the lines as a result, truncated, with all notices in one pair of brackets."""
    cut = keep_head("\n".join(lines).encode("utf-8", "replace"))
    details: Json = {
        limit_notice.detail: limit_notice.value for limit_notice in limited if limit_notice
    }
    notices = [limit_notice.notice for limit_notice in limited if limit_notice]
    if cut.truncated:
        details["truncation"] = cut.as_json()
        by_lines = cut.truncated_by == "lines"
        limit = f"{cut.max_lines} lines" if by_lines else size_text(cut.max_bytes)
        notices.append(f"{limit} limit reached")
    text = f"{cut.content}\n\n[{'. '.join(notices)}]" if notices else cut.content
    return ToolResult.of(text, details=details or UNSET)


def path_exists(path: Path) -> bool:
    """Whether the path exists and may be seen."""
    try:
        return path.exists()
    except OSError:  # an invalid name, or a folder on the way that may not be read
        return False


def require_readable(path: Path) -> None:
    """Check that a search root is readable, so that an empty result is reliable.

    Raises ``ToolFailed`` if it may not be read, or is neither a file nor a folder.
    """
    if is_special_file(path):
        raise ToolFailed(f"Cannot search {path}: it is a device or a pipe, not a regular file.")
    is_folder = path.is_dir()
    mode = os.R_OK | os.X_OK if is_folder else os.R_OK
    if not os.access(path, mode, effective_ids=EFFECTIVE_IDS):
        denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise ToolFailed(node_text(denied, "scandir" if is_folder else "open", str(path)))


GIT_FOLDER = ".git"


class WalkedFile(Record):
    """An entry found by ``walk``. Links are not followed."""

    path: str
    """Relative to the root of the walk, with ``/`` as separator."""
    is_folder: bool
    is_link: bool


Ignores: TypeAlias = Callable[[WalkedFile], bool]
"""Whether an entry, and everything below it, is skipped."""


def walk(
    root: Path, *, ignores: Ignores, stop: threading.Event, files: bool = True
) -> Iterator[WalkedFile]:
    """Yield every entry below ``root``, a folder before its contents, sorted by name.

    Without ``files`` only folders and links are listed, which is three times as fast.

    Blocks; setting ``stop`` ends it. Folders that cannot be read are skipped. Links are not
    followed, so that a cycle of links ends.
    """
    waiting = [""]
    while waiting and not stop.is_set():
        folder = waiting.pop()
        inner = []
        for entry in _scan_folder(root, folder, files=files):
            if ignores(entry):
                continue
            yield entry
            if entry.is_folder:
                inner.append(entry.path)
        waiting += reversed(inner)


def _scan_folder(root: Path, folder: str, *, files: bool) -> list[WalkedFile]:
    lead = f"{folder}/" if folder else ""
    try:
        with os.scandir(root / folder) as scanned:
            entries = [
                WalkedFile(
                    path=lead + entry.name,
                    is_folder=entry.is_dir(follow_symlinks=False),
                    is_link=entry.is_symlink(),
                )
                for entry in scanned
                if files or not entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(entries, key=lambda entry: entry.path)


MAX_OUTPUT_BYTES = 512 * 1024 * 1024
"""A program that writes more is considered broken."""
MAX_SILENCE_SECONDS = 30.0
"""A program that writes nothing for longer is considered hung."""
MAX_PATH_BYTES = 1_000_000
"""Longer output is not a path: operating systems allow a few thousand bytes."""
MAX_PATHS = 5_000_000
"""A program that lists more is considered broken."""
RG = ("--files", "--hidden", "--no-config", "--no-messages", "--null", f"--glob=!{GIT_FOLDER}")
FD = ("--hidden", "--color=never", "--print0", f"--exclude={GIT_FOLDER}")

PathFilter: TypeAlias = Callable[[str], bool]


class FileListing:
    """Lists all files below a folder that are not ignored: by fd, by ripgrep, or by a walk.

    If a program fails, the next method is tried, and the same command is not run again: fd before
    8.7, which Debian 12 has, does not support ``--no-require-git``.

    ripgrep does not list folders and links; a walk adds them. ``.gitignore`` also applies outside
    of a repository.
    """

    def __init__(
        self, programs: SearchPrograms, *, home: Path, silence: float = MAX_SILENCE_SECONDS
    ) -> None:
        self._programs = programs
        self._home = home
        self._silence = silence
        self._failed: set[tuple[str, ...]] = set()

    async def below(
        self, root: Path, *, accepts: PathFilter | None = None, most: int | None = None
    ) -> list[str]:
        """Return sorted paths relative to ``root``, folders with a slash at the end.

        ``accepts`` filters the paths; it is called in a thread. ``most`` is the maximum number of
        paths.
        """
        outside = () if await asyncio.to_thread(repository_of, root) else ("--no-require-git",)
        if fd := self._programs.fd:
            paths = _Paths(accepts, most)
            if await self._run_listing((fd, *FD, *outside, ".", "."), root, paths):
                return await asyncio.to_thread(paths.sorted)
        if rg := self._programs.rg:
            paths = _Paths(accepts, most, folders=True)
            if await self._run_listing((rg, *RG, *outside, "./"), root, paths):
                return await self._with_folders(root, paths)
        paths = _Paths(accepts, most)
        await _in_thread(lambda stop: self._walk(root, paths, stop))
        return await asyncio.to_thread(paths.sorted)

    async def _run_listing(self, command: tuple[str, ...], root: Path, paths: _Paths) -> bool:
        """Run a program that fills ``paths``. Returns False if it fails."""
        if command in self._failed:
            return False
        is_rg = command[0] == self._programs.rg
        output = read_program_output(
            command,
            cwd=root,
            env=self._programs.environment,
            quiet_success=RG_QUIET_EXIT_CODES if is_rg else (),
            silence=self._silence,
            most=MAX_OUTPUT_BYTES,
        )
        try:
            async with aclosing(output) as pieces:
                async for piece in pieces:
                    await asyncio.to_thread(paths.feed, piece)
        except ProgramFailed as error:
            log.warning("%s; falling back to another way to list files", error.message)
            self._failed.add(command)
            return False
        return True

    async def _with_folders(self, root: Path, paths: _Paths) -> list[str]:
        """Add folders and links, which ripgrep does not list."""

        def add(stop: threading.Event) -> None:
            tree = IgnoreTree(root, home=self._home, require_git=False)
            ignored = _unless_known(paths.folders, tree)
            paths.add(map(_format_entry, walk(root, ignores=ignored, stop=stop, files=False)))

        await _in_thread(add)
        return await asyncio.to_thread(paths.sorted)

    def _walk(self, root: Path, paths: _Paths, stop: threading.Event) -> None:
        tree = IgnoreTree(root, home=self._home, require_git=False)
        paths.add(map(_format_entry, walk(root, ignores=_unless_ignored(tree), stop=stop)))


class _Paths:
    """Collects paths; of more than ``most`` only the first in sorted order are kept."""

    def __init__(
        self, accepts: PathFilter | None, most: int | None, *, folders: bool = False
    ) -> None:
        self.folders: set[str] = {""}
        """Folders that contain listed files; collected if ``folders`` is set."""
        self._accepts = accepts
        self._most = most
        self._collects_folders = folders
        self._paths: list[str] = []
        self._begun = b""
        self._count = 0

    def feed(self, piece: bytes) -> None:
        """Add output of a program: paths terminated by zero bytes.

        Raises ``ProgramFailed`` for empty, repeated, or too long or many paths.
        """
        complete, end, self._begun = (self._begun + piece).rpartition(b"\0")
        if not end:
            if len(self._begun) > MAX_PATH_BYTES:
                raise _not_paths()
            return
        names = complete.decode("utf-8", "surrogateescape").split("\0")
        self._count += len(names)
        if "" in names or len(set(names)) < len(names) or self._count > MAX_PATHS:
            raise _not_paths()
        paths = [name for raw_name in names if (name := raw_name.removeprefix("./"))]
        if self._collects_folders:
            for path in paths:
                self._note_folders(path)
        self.add(paths)

    def add(self, paths: Iterable[str]) -> None:
        """Add the paths that are accepted."""
        for path in paths if self._accepts is None else filter(self._accepts, paths):
            self._paths.append(path)
            if self._most is not None and len(self._paths) > 2 * self._most + 1000:
                self._paths = self.sorted()

    def sorted(self) -> list[str]:
        """Return the collected paths in order."""
        return sorted(self._paths)[: self._most]

    def _note_folders(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        while folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]


def _not_paths() -> ProgramFailed:
    return ProgramFailed("The search program", "wrote output that is not a list of paths")


def _format_entry(entry: WalkedFile) -> str:
    return f"{entry.path}/" if entry.is_folder else entry.path


def _unless_known(folders: set[str], tree: IgnoreTree) -> Ignores:
    """Check the ignore rules only for folders without a file that ripgrep has listed."""
    unless_ignored = _unless_ignored(tree)
    return lambda entry: entry.path not in folders and unless_ignored(entry)


def _unless_ignored(tree: IgnoreTree) -> Ignores:
    return lambda entry: _is_git(entry) or tree.ignores(entry.path, is_folder=entry.is_folder)


def _is_git(entry: WalkedFile) -> bool:
    return entry.path.rpartition("/")[2] == GIT_FOLDER


async def _in_thread(work: Callable[[threading.Event], None]) -> None:
    stop = threading.Event()
    try:
        await asyncio.to_thread(work, stop)
    finally:
        stop.set()  # a thread cannot be cancelled; it checks this flag
