"""The programs behind working copies: git, and overlay mounts.

git runs quietly, without hooks, signatures and questions. An overlay has the project below and the
changes above; it needs Linux and root. Only paths above count as changes: the project may change
below while a task is running. A copy is made in constant time, whatever the size of the project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes import SpawnFailed, run

TIMEOUT = 600.0

_QUIET = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false",
    "-c", "user.name=pi", "-c", "user.email=pi@localhost", "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
)  # fmt: skip
"""No hooks and no signatures: both may ask, or run what the task has written."""


class WorkingCopyFailed(PiError):
    """A working copy could not be made, compared or applied."""


def without_repository(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns ``environ`` without the variables that name another repository."""
    return {name: value for name, value in environ.items() if not name.startswith("GIT_")}


async def top_level(path: Path, environ: Mapping[str, str]) -> Path | None:
    """Returns the root of the repository that ``path`` is in."""
    done = await run_git(["rev-parse", "--show-toplevel"], path, environ)
    return Path(done[1].rstrip("\n")).resolve() if done is not None and done[0] == 0 else None


async def git(arguments: tuple[str, ...] | list[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Return the output of a git command; raises ``WorkingCopyFailed`` if it fails."""
    done = await run_git(arguments, cwd, environ)
    if done is None:
        raise WorkingCopyFailed("git was not found.", hint="Install git.")
    if done[0] != 0:
        reason = done[1].strip().splitlines()[-1:] or ["no reason given"]
        raise WorkingCopyFailed(f"git {arguments[0]} failed in {cwd}: {reason[0]}")
    return done[1]


async def run_git(
    arguments: tuple[str, ...] | list[str],
    cwd: Path,
    environ: Mapping[str, str],
    input: bytes | None = None,
) -> tuple[int, str] | None:
    """Returns exit code and output, or the errors of a failed command; ``None`` without git."""
    env = {
        **environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_EDITOR": "true",
        "LC_ALL": "C",
    }
    try:
        done = await run(
            ["git", *_QUIET, *arguments],
            cwd=cwd,
            env=env,
            timeout=TIMEOUT,
            max_output=64 * 1024**2,
            input=input,
        )
    except SpawnFailed:
        return None
    code = done.exit_code if done.exit_code is not None else -1
    shown = done.output if code == 0 else done.errors or done.output
    return code, shown.decode("utf-8", "surrogateescape")


MOUNT_TIMEOUT = 30.0
_OPAQUE = "trusted.overlay.opaque"
_SEPARATORS = (",", ":", "\\")
"""Characters that mean something in the options of mount."""


async def mount(lower: Path, folder: Path, environ: Mapping[str, str]) -> bool:
    """Mount ``lower`` with changes in ``folder`` at ``folder/files``; False where it cannot be."""
    if sys.platform != "linux" or any(each in str(lower / folder) for each in _SEPARATORS):
        return False
    upper, work, files = (folder / name for name in ("upper", "work", "files"))
    for each in (upper, work, files):
        each.mkdir(exist_ok=True)
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
    """Return the files that were changed, made or deleted, and folders that were replaced."""
    upper = folder / "upper"
    files: list[str] = []
    replaced: list[str] = []
    for place, names, entries in os.walk(upper):
        here = Path(place)
        if here == upper and ".git" in names:
            names.remove(".git")  # the index and the like: commits of the task are in the files
        if here != upper and _is_opaque(here):
            replaced.append(here.relative_to(upper).as_posix())
        links = [name for name in names if (here / name).is_symlink()]
        files += ((here / name).relative_to(upper).as_posix() for name in (*entries, *links))
    return files, replaced


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False


async def _succeeds(words: list[str], environ: Mapping[str, str]) -> bool:
    try:
        done = await run(
            words, cwd=Path("/"), env=dict(environ), timeout=MOUNT_TIMEOUT, max_output=4096
        )
    except SpawnFailed:
        return False
    return done.exit_code == 0
