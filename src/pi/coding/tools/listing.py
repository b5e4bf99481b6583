"""Results that are lists of lines: cut to a size, with notices of what is missing. Pure."""

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
from pi.coding.files.errors import node_text
from pi.coding.files.local import EFFECTIVE_IDS
from pi.coding.resources.ignore import IgnoreTree
from pi.coding.resources.sources import repository_of
from pi.coding.shell.output import keep_head
from pi.coding.shell.spill import size_text
from pi.coding.tools.programs import QUIET_SUCCESS, ProgramFailed, SearchPrograms, output_of

log = logging.getLogger(__name__)


REFINE = ", or refine pattern"
"""What else helps against too many results of a search."""


class Limited(NamedTuple):
    """Something that is not all there is."""

    detail: str
    """Its name in the details."""
    value: Any
    notice: str


def at_least_one(given: float | UnsetType, default: int) -> int:
    """A limit as a model gives it."""
    return default if isinstance(given, UnsetType) else max(int(given), 1)


def more_than(limit: int, found: int, names: tuple[str, str], advice: str = "") -> Limited | None:
    """That ``found`` things, by their ``names`` as one and as many, are more than are shown."""
    if found <= limit:
        return None
    one, many = names
    notice = f"{limit} {many} limit reached. Use limit={2 * limit} for more{advice}"
    return Limited(f"{one}LimitReached", limit, notice)


def listing(lines: Sequence[str], *limited: Limited | None) -> ToolResult:
    """Lines as a result, with one bracket that holds all notices."""
    cut = keep_head("\n".join(lines).encode("utf-8", "replace"))
    details: Json = {each.detail: each.value for each in limited if each}
    notices = [each.notice for each in limited if each]
    if cut.truncated:
        details["truncation"] = cut.as_json()
        by_lines = cut.truncated_by == "lines"
        limit = f"{cut.max_lines} lines" if by_lines else size_text(cut.max_bytes)
        notices.append(f"{limit} limit reached")
    text = f"{cut.content}\n\n[{'. '.join(notices)}]" if notices else cut.content
    return ToolResult.of(text, details=details or UNSET)


# Where a search begins: it must be possible to look there, or nothing found would be a lie.


def is_there(place: Path) -> bool:
    """Whether there is something, as far as we may know."""
    try:
        return place.exists()
    except OSError:  # no file can have this name, or nobody may look into the folder it is in
        return False


def must_be_open(place: Path) -> None:
    """``ToolFailed`` for a file or folder that may not be read, and for what is neither."""
    if is_special_file(place):
        raise ToolFailed(f"Cannot search {place}: it is a device or a pipe, not a regular file.")
    is_folder = place.is_dir()
    wanted = os.R_OK | os.X_OK if is_folder else os.R_OK
    if not os.access(place, wanted, effective_ids=EFFECTIVE_IDS):
        denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise ToolFailed(node_text(denied, "scandir" if is_folder else "open", str(place)))


# All files and folders below a folder, without those that are ignored.


GIT_FOLDER = ".git"


class WalkedFile(Record):
    """Something that was found; links are what they are, not what they lead to."""

    path: str
    """Relative to where the walk began, with ``/`` between its parts."""
    is_folder: bool
    is_link: bool


Ignores: TypeAlias = Callable[[WalkedFile], bool]
"""Whether an entry, and what is below it, is passed over."""


def walk(
    root: Path, *, ignores: Ignores, stop: threading.Event, files: bool = True
) -> Iterator[WalkedFile]:
    """Every entry below ``root``, a folder before what is in it, names in order.

    Without ``files`` only folders and links, which is three times as fast.

    Blocks between entries until ``stop`` is set. Folders that cannot be read are passed over, and
    links are not followed, so that a loop of them ends.
    """
    waiting = [""]
    while waiting and not stop.is_set():
        folder = waiting.pop()
        inner = []
        for entry in _entries(root, folder, files=files):
            if ignores(entry):
                continue
            yield entry
            if entry.is_folder:
                inner.append(entry.path)
        waiting += reversed(inner)


def _entries(root: Path, folder: str, *, files: bool) -> list[WalkedFile]:
    lead = f"{folder}/" if folder else ""
    try:
        with os.scandir(root / folder) as found:
            entries = [
                WalkedFile(
                    path=lead + each.name,
                    is_folder=each.is_dir(follow_symlinks=False),
                    is_link=each.is_symlink(),
                )
                for each in found
                if files or not each.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(entries, key=lambda entry: entry.path)


# All that is below a folder and not ignored, as fast as this machine can say it.


MOST_OUTPUT = 512 * 1024 * 1024
"""Bytes of paths, after which a program is taken for broken."""
SILENCE = 30.0
"""Seconds without a path, after which it is taken for hung."""
LONGEST_PATH = 1_000_000
"""Bytes of one path; operating systems allow a few thousand."""
RG = ("--files", "--hidden", "--no-config", "--no-messages", "--null", f"--glob=!{GIT_FOLDER}")
FD = ("--hidden", "--color=never", "--print0", f"--exclude={GIT_FOLDER}")

Wanted: TypeAlias = Callable[[str], bool]


class FileListing:
    """Lists folders: by fd, by ripgrep and a walk, or by a walk alone.

    A program that fails is not asked again, and the next way is taken: fd before 8.7, which
    Debian 12 has, does not know ``--no-require-git``.

    ripgrep knows which files are ignored, and the walk adds what it does not tell: folders, also
    empty ones, and links. Outside of a repository ``.gitignore`` counts too.
    """

    def __init__(self, programs: SearchPrograms, *, home: Path, silence: float = SILENCE) -> None:
        self._programs = programs
        self._home = home
        self._silence = silence
        self._failed: set[tuple[str, ...]] = set()

    async def below(
        self, root: Path, *, wanted: Wanted | None = None, most: int | None = None
    ) -> list[str]:
        """Paths relative to ``root``, folders with a slash at the end, sorted.

        Only those that are ``wanted``, which is called in a thread; the first ``most`` of them.
        """
        outside = () if await asyncio.to_thread(repository_of, root) else ("--no-require-git",)
        if fd := self._programs.fd:
            paths = _Paths(wanted, most)
            if await self._listed((fd, *FD, *outside, ".", "."), root, paths):
                return await asyncio.to_thread(paths.sorted)
        if rg := self._programs.rg:
            paths = _Paths(wanted, most, folders=True)
            if await self._listed((rg, *RG, *outside, "./"), root, paths):
                return await self._with_folders(root, paths)
        paths = _Paths(wanted, most)
        await _in_thread(lambda stop: self._walk(root, paths, stop))
        return await asyncio.to_thread(paths.sorted)

    async def _listed(self, command: tuple[str, ...], root: Path, paths: _Paths) -> bool:
        """Whether the program could list everything; ``paths`` has it then."""
        if command in self._failed:
            return False
        is_rg = command[0] == self._programs.rg
        output = output_of(
            command,
            cwd=root,
            env=self._programs.environment,
            quiet_success=QUIET_SUCCESS if is_rg else (),
            silence=self._silence,
            most=MOST_OUTPUT,
        )
        try:
            async with aclosing(output) as pieces:
                async for piece in pieces:
                    await asyncio.to_thread(paths.feed, piece)
        except ProgramFailed as problem:
            log.warning("%s; files are listed in another way", problem.message)
            self._failed.add(command)
            return False
        return True

    async def _with_folders(self, root: Path, paths: _Paths) -> list[str]:
        """Adds what ripgrep does not list."""

        def add(stop: threading.Event) -> None:
            tree = IgnoreTree(root, home=self._home, require_git=False)
            ignored = _unless_known(paths.folders, tree)
            paths.add(map(_shown, walk(root, ignores=ignored, stop=stop, files=False)))

        await _in_thread(add)
        return await asyncio.to_thread(paths.sorted)

    def _walk(self, root: Path, paths: _Paths, stop: threading.Event) -> None:
        tree = IgnoreTree(root, home=self._home, require_git=False)
        paths.add(map(_shown, walk(root, ignores=_unless_ignored(tree), stop=stop)))


class _Paths:
    """Paths as they come; of very many only the first in their order are kept."""

    def __init__(self, wanted: Wanted | None, most: int | None, *, folders: bool = False) -> None:
        self.folders: set[str] = {""}
        """Those in which files are, if they are collected."""
        self._wanted = wanted
        self._most = most
        self._collects_folders = folders
        self._kept: list[str] = []
        self._begun = b""

    def feed(self, piece: bytes) -> None:
        """Add what a program has written, with a zero byte after each path."""
        *whole, self._begun = (self._begun + piece).split(b"\0")
        if len(self._begun) > LONGEST_PATH:
            raise ProgramFailed("The search program", "writes something else than paths")
        names = (path.decode("utf-8", "surrogateescape").removeprefix("./") for path in whole)
        paths = [name for name in names if name]
        if self._collects_folders:
            for path in paths:
                self._note_folders(path)
        self.add(paths)

    def add(self, paths: Iterable[str]) -> None:
        """Add those that are wanted."""
        for path in paths if self._wanted is None else filter(self._wanted, paths):
            self._kept.append(path)
            if self._most is not None and len(self._kept) > 2 * self._most + 1000:
                self._kept = self.sorted()

    def sorted(self) -> list[str]:
        """What is kept, in order."""
        return sorted(self._kept)[: self._most]

    def _note_folders(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        while folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]


def _shown(entry: WalkedFile) -> str:
    return f"{entry.path}/" if entry.is_folder else entry.path


def _unless_known(folders: set[str], tree: IgnoreTree) -> Ignores:
    """Ask the rules only about what holds no file that ripgrep has listed."""
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
        stop.set()  # a thread cannot be cancelled, but it can be asked to end
