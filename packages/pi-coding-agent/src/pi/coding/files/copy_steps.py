"""Runs git for working copies: without hooks, signatures and prompts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pi.base.errors import PiError
from pi.base.locks import HolderLock
from pi.base.processes import SpawnFailed, run
from pi.base.processes.git import GIT_PROGRAMS_QUERY, git_command, git_programs

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


# Merged files -------------------------------------------------------------------------------------
