"""Runs git for working copies: quietly, without hooks, signatures and questions."""

from __future__ import annotations

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
