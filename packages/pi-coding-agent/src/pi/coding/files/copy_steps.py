"""The steps of a working copy: git, overlay mounts, and merged files.

git runs without hooks, signatures and prompts. An overlay mount has the project as its lower layer
and the changes in its upper layer. It needs Linux and root, and takes constant time, whatever the
size of the project. Only paths in the upper layer count as changes: the project itself may change
while a task is running.

git merges files in a separate folder. Only files that differ are written to the project, through
the file layers like the writes of tools, so that guards and histories see them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.base.locks import HolderLock
from pi.base.processes import SpawnFailed, run
from pi.base.processes.git import GIT_PROGRAMS_QUERY, git_command, git_programs
from pi.base.records import Record
from pi.coding.files.layers import outside_calls

if TYPE_CHECKING:
    from pi.coding.files.local import LocalFiles


TIMEOUT = 600.0
LOCK_SECONDS = 600.0
"""How long a change of the list of worktrees waits for those of other processes."""

_QUIET = (
    "-c", "commit.gpgSign=false", "-c", "user.name=pi", "-c", "user.email=pi@localhost",
    "-c", "core.quotePath=false", "-c", "gc.auto=0",
)  # fmt: skip
"""No signatures: they may prompt."""
_WITHOUT_FILTERS = frozenset({
    "branch", "check-ignore", "commit-tree", "init", "ls-files", "ls-tree", "merge-file",
    "rev-parse", "update-ref",
})  # fmt: skip
"""Commands that run no filters and merge drivers of a repository.

Everything else may: ``write-tree``, for example, compares files that changed within a second.
"""


class WorkingCopyFailed(PiError):
    """A working copy could not be made, compared or applied."""


def without_repository(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` without the variables that name another repository."""
    return {name: value for name, value in environ.items() if not name.startswith("GIT_")}


async def top_level(path: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the root of the repository that contains ``path``; ``None`` if there is none."""
    result = await run_git(["rev-parse", "--show-toplevel"], path, environ)
    return Path(result[1].rstrip("\n")).resolve() if result is not None and result[0] == 0 else None


async def git(arguments: tuple[str, ...] | list[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Return the output of a git command; raises ``WorkingCopyFailed`` if it fails."""
    result = await run_git(arguments, cwd, environ)
    if result is None:
        raise WorkingCopyFailed("git was not found.", hint="Install git.")
    if result[0] != 0:
        reason = result[1].strip().splitlines()[-1:] or ["no reason given"]
        raise WorkingCopyFailed(f"git {arguments[0]} failed in {cwd}: {reason[0]}")
    return result[1]


async def run_git(
    arguments: tuple[str, ...] | list[str],
    cwd: Path,
    environ: Mapping[str, str],
    input: bytes | None = None,
) -> tuple[int, str] | None:
    """Return exit code and output, or the errors of a failed command; ``None`` without git."""
    env = {
        **environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_EDITOR": "true",
        "LC_ALL": "C",
    }
    try:
        programs: tuple[str, ...] = ()
        if arguments[0] not in _WITHOUT_FILTERS:
            query = git_command(GIT_PROGRAMS_QUERY)
            listed = await run(query, cwd=cwd, env=env, timeout=TIMEOUT, max_output=1024**2)
            programs = git_programs(listed.output.decode("utf-8", "surrogateescape"))
        result = await run(
            git_command(arguments, options=_QUIET, programs=programs),
            cwd=cwd,
            env=env,
            timeout=TIMEOUT,
            max_output=64 * 1024**2,
            input=input,
        )
    except SpawnFailed:
        return None
    code = result.exit_code if result.exit_code is not None else -1
    output = result.output if code == 0 else result.errors or result.output
    return code, output.decode("utf-8", "surrogateescape")


@asynccontextmanager
async def worktrees_locked(repository: Path, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Let one process at a time change the list of worktrees of a repository.

    git reads all entries of the list when it adds or removes one, and fails if another process is
    in the middle of that.
    """
    common = (await git(["rev-parse", "--git-common-dir"], repository, environ)).rstrip("\n")
    async with HolderLock(repository / common / "pi-worktrees", wait=LOCK_SECONDS):
        yield


# Overlay mounts -----------------------------------------------------------------------------------

MOUNT_TIMEOUT = 30.0
_OPAQUE = "trusted.overlay.opaque"
_SEPARATORS = (",", ":", "\\")
"""Characters with a special meaning in the options of ``mount``."""


async def mount(lower: Path, folder: Path, environ: Mapping[str, str]) -> bool:
    """Mount ``lower`` at ``folder/files``, with changes in ``folder``; False if that fails."""
    if sys.platform != "linux" or any(
        separator in str(lower / folder) for separator in _SEPARATORS
    ):
        return False
    upper, work, files = (folder / name for name in ("upper", "work", "files"))
    for layer in (upper, work, files):
        layer.mkdir(exist_ok=True)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    return await _succeeds(
        ["mount", "-t", "overlay", "overlay", "-o", options, str(files)], environ
    )


async def unmount(folder: Path, environ: Mapping[str, str]) -> bool:
    """Unmount; returns whether nothing is mounted any more."""
    files = folder / "files"
    if not os.path.ismount(files):
        return True
    return await _succeeds(["umount", str(files)], environ)


def changed_paths(folder: Path) -> tuple[list[str], list[str]]:
    """Return the files that were changed, created or deleted, and folders that were replaced."""
    upper = folder / "upper"
    files: list[str] = []
    replaced: list[str] = []
    for folder_name, names, entries in os.walk(upper):
        changed_folder = Path(folder_name)
        if changed_folder == upper and ".git" in names:
            names.remove(".git")  # the files themselves contain what the task has committed
        if changed_folder != upper and _is_opaque(changed_folder):
            replaced.append(changed_folder.relative_to(upper).as_posix())
        links = [name for name in names if (changed_folder / name).is_symlink()]
        files += (
            (changed_folder / name).relative_to(upper).as_posix() for name in (*entries, *links)
        )
    return files, replaced


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False


async def _succeeds(command: list[str], environ: Mapping[str, str]) -> bool:
    try:
        result = await run(
            command, cwd=Path("/"), env=dict(environ), timeout=MOUNT_TIMEOUT, max_output=4096
        )
    except SpawnFailed:
        return False
    return result.exit_code == 0


# Merged files -------------------------------------------------------------------------------------

EXECUTABLE = 0o111


class _Content(Record):
    """The file or link at a path; neither ``data`` nor ``link`` is set for others, as folders."""

    data: bytes | None = None
    link: str | None = None
    mode: int = 0

    def is_like(self, other: _Content) -> bool:
        """Whether git sees no difference."""
        same = (self.data, self.link) == (other.data, other.link)
        return same and self.is_executable == other.is_executable

    @property
    def is_executable(self) -> bool:
        return bool(self.mode & EXECUTABLE)


class _Change(Record):
    path: Path
    before: _Content
    after: _Content


def copy_paths(root: Path, folder: Path, names: Sequence[str]) -> None:
    """Copy the files and links with these names to ``folder``; missing ones are left out.

    ``.gitattributes`` files above them are copied too: git reads them even if uncommitted.
    """
    above = {parent / ".gitattributes" for name in names for parent in Path(name).parents}
    for name in (*names, *map(str, above)):
        source, target = root / name, folder / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


async def write_merged(files: LocalFiles, root: Path, merged: Path, names: Sequence[str]) -> None:
    """Write the files in ``merged`` that differ from those in ``root``: all, or none.

    What was written before a failure is undone; the failure is raised again.
    """
    changes = await asyncio.to_thread(_compare, root, merged, names)
    for change in changes:
        # ``resolve`` may return a file whose name only looks the same; a merge must not.
        if (resolved := files.resolve(str(change.path))) != change.path:
            raise PiError(f"{change.path} looks like {resolved}, which exists.")
    done: list[_Change] = []
    # A merge is not a tool call: the layers neither format nor report its text.
    with outside_calls():
        try:
            # Removals first: a folder may take the place of a file, and the other way round.
            for change in changes:
                if change.after.data is None and change.before != _Content():
                    done.append(change)
                    await _remove(files, root, change.path)
            for change in changes:
                if change.after != _Content():
                    done.append(change)
                    await _write(files, change.path, change.before, change.after)
        except BaseException:
            for change in reversed(done):
                await _undo(files, root, change)
            raise


def _compare(root: Path, merged: Path, names: Sequence[str]) -> list[_Change]:
    changes = (
        _Change(
            path=root / name, before=_read_content(root / name), after=_read_content(merged / name)
        )
        for name in names
    )
    return [change for change in changes if not change.before.is_like(change.after)]


def _read_content(path: Path) -> _Content:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return _Content()
    if stat.S_ISLNK(status.st_mode):
        return _Content(link=str(path.readlink()))
    if not stat.S_ISREG(status.st_mode):
        return _Content()
    return _Content(data=path.read_bytes(), mode=stat.S_IMODE(status.st_mode))


async def _remove(files: LocalFiles, root: Path, path: Path) -> None:
    await files.remove(str(path))
    for folder in path.parents:  # git has no empty folders
        if folder == root or not folder.is_relative_to(root):
            break
        try:
            folder.rmdir()
        except OSError:
            break


async def _write(files: LocalFiles, path: Path, before: _Content, after: _Content) -> None:
    if after.data is None:
        if after.link is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(after.link)
        return
    if before.link is not None:  # a write would follow it
        await files.remove(str(path))
    if before.data is None:
        mode = after.mode if after.is_executable else None
    else:
        mode = None if before.is_executable == after.is_executable else after.mode
    await files.write_file(str(path), after.data, mode=mode)


async def _undo(files: LocalFiles, root: Path, change: _Change) -> None:
    """Restore a path, if it was changed."""
    now = await asyncio.to_thread(_read_content, change.path)
    if now.is_like(change.before):
        return
    # Best effort: the error that started the undo is reported, not a later one.
    with suppress(Exception):
        if now != _Content():
            is_replaced = now.data is not None and change.before.data is not None
            if not is_replaced:
                await _remove(files, root, change.path)
                now = _Content()
        await _write(files, change.path, now, change.before)
