"""All that is below a folder and not ignored, as fast as this machine can say it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

from pi.agent.tool import ToolFailed
from pi.base.processes import Finished, run
from pi.coding.files.walking import GIT_FOLDER, Entry, Ignores, walk
from pi.coding.resources.folders import repository_of
from pi.coding.resources.ignoring import IgnoreTree
from pi.coding.tools.programs import SearchPrograms

MOST_OUTPUT = 512 * 1024 * 1024
RG = ("--files", "--hidden", "--no-config", "--no-messages", "--null", f"--glob=!{GIT_FOLDER}")
FD = ("--hidden", "--color=never", "--print0", f"--exclude={GIT_FOLDER}")


class FileListing:
    """Lists folders, by fd, by ripgrep and a walk, or by a walk alone.

    ripgrep knows which files are ignored, and the walk adds what it does not tell: folders, also
    empty ones, and links. Outside of a repository ``.gitignore`` counts too.
    """

    def __init__(self, programs: SearchPrograms, *, home: Path) -> None:
        self._programs = programs
        self._home = home

    async def below(self, root: Path) -> list[str]:
        """Paths relative to ``root``, folders with a slash at the end, in any order."""
        outside = [] if repository_of(root) else ["--no-require-git"]
        if fd := self._programs.fd:
            done = await self._run([fd, *FD, *outside, ".", "."], root)
            return [path.removeprefix("./") for path in _paths(done.output)]
        tree = IgnoreTree(root, home=self._home, require_git=False)
        if rg := self._programs.rg:
            done = await self._run([rg, *RG, *outside, "./"], root)
            files = [path.removeprefix("./") for path in _paths(done.output)]
            rest = await _walked(root, _unless_known(_folders(files), tree), files=False)
            return files + rest
        return await _walked(root, _unless_ignored(tree))

    async def _run(self, command: list[str], root: Path) -> Finished:
        env = self._programs.environment
        done = await run(command, cwd=root, env=env, timeout=None, max_output=MOST_OUTPUT)
        if done.signal is not None:
            raise ToolFailed(f"{Path(command[0]).name} was ended by signal {done.signal}.")
        return done


def _paths(output: bytes) -> Iterable[str]:
    return (path for path in output.decode("utf-8", "surrogateescape").split("\0") if path)


def _folders(files: Iterable[str]) -> set[str]:
    """The folders in which files are."""
    folders: set[str] = {""}
    for path in files:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _unless_known(folders: set[str], tree: IgnoreTree) -> Ignores:
    """Ask the rules only about what holds no file that ripgrep has listed."""
    unless_ignored = _unless_ignored(tree)
    return lambda entry: entry.path not in folders and unless_ignored(entry)


def _unless_ignored(tree: IgnoreTree) -> Ignores:
    return lambda entry: _is_git(entry) or tree.ignores(entry.path, is_folder=entry.is_folder)


def _is_git(entry: Entry) -> bool:
    return entry.path.rpartition("/")[2] == GIT_FOLDER


async def _walked(root: Path, ignores: Ignores, *, files: bool = True) -> list[str]:
    stop = threading.Event()

    def collect() -> list[str]:
        entries = walk(root, ignores=ignores, stop=stop, files=files)
        return [f"{each.path}/" if each.is_folder else each.path for each in entries]

    try:
        return await asyncio.to_thread(collect)
    finally:
        stop.set()  # a thread cannot be cancelled, but it can be told
