"""All that is below a folder and not ignored, as fast as this machine can say it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import TypeAlias

from pi.coding.files.walking import GIT_FOLDER, Entry, Ignores, walk
from pi.coding.resources.folders import repository_of
from pi.coding.resources.ignoring import IgnoreTree
from pi.coding.tools.program_output import ProgramFailed, output_of
from pi.coding.tools.programs import QUIET_SUCCESS, SearchPrograms

log = logging.getLogger(__name__)

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


def _shown(entry: Entry) -> str:
    return f"{entry.path}/" if entry.is_folder else entry.path


def _unless_known(folders: set[str], tree: IgnoreTree) -> Ignores:
    """Ask the rules only about what holds no file that ripgrep has listed."""
    unless_ignored = _unless_ignored(tree)
    return lambda entry: entry.path not in folders and unless_ignored(entry)


def _unless_ignored(tree: IgnoreTree) -> Ignores:
    return lambda entry: _is_git(entry) or tree.ignores(entry.path, is_folder=entry.is_folder)


def _is_git(entry: Entry) -> bool:
    return entry.path.rpartition("/")[2] == GIT_FOLDER


async def _in_thread(work: Callable[[threading.Event], None]) -> None:
    stop = threading.Event()
    try:
        await asyncio.to_thread(work, stop)
    finally:
        stop.set()  # a thread cannot be cancelled, but it can be asked to end
