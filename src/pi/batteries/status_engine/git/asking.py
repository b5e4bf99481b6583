"""What only ``git`` itself can tell, and when it may be asked.

A repository's configuration can name programs that git starts by itself: file system monitors,
filters, pagers, external diffs, transports. Options switch off all of them but filters.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pi.batteries.status_engine.file import Files, read_small
from pi.extension import ExecResult, PiError

SECONDS = 1.0
"""How long git may take. In a huge repository it is given up."""

_GIT = (
    "git",
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    # A folder that looks like a repository inside of the real one is not taken for one.
    *("-c", "safe.bareRepository=explicit"),
)
_BRINGING = ("filter", "include", "worktreeconfig")
"""Sections that name filters, and what reads further files in which they could be."""
_DIFF = ("diff", "--shortstat", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "HEAD")
_BRANCH = ("symbolic-ref", "--short", "--quiet", "HEAD")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    # Nothing is fetched for a partial clone: that could start programs, and takes long.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}


class TookTooLong(Exception):
    """Git was given up."""


class RunGit(Protocol):
    """Runs a program to its end, as ``pi.exec`` does."""

    def __call__(
        self, argv: Sequence[str], *, env: Mapping[str, str], timeout: float
    ) -> Awaitable[ExecResult]:
        """What it came to; killed after ``timeout`` seconds."""
        ...


async def is_harmless(files: Files, git_dir: Path) -> bool:
    """Whether the repository's own configuration can be read and brings no filters."""
    common = await read_small(files, str(git_dir / "commondir"))
    shared = git_dir if common is None else git_dir / common.strip()
    config = await read_small(files, str(shared / "config"))
    return config is not None and not any(word in config.lower() for word in _BRINGING)


async def ask_branch(run: RunGit) -> str:
    """The branch; empty if there is none, or no git."""
    ended = await _ask(run, _BRANCH)
    return "" if ended is None else ended.stdout.strip()


async def ask_counts(run: RunGit) -> tuple[int, int] | None:
    """Lines added and removed since the last commit; ``None`` before the first one."""
    ended = await _ask(run, _DIFF)
    return None if ended is None else (_number(ended, "insertion"), _number(ended, "deletion"))


async def _ask(run: RunGit, arguments: Sequence[str]) -> ExecResult | None:
    try:
        ended = await run((*_GIT, *arguments), env=_ENVIRONMENT, timeout=SECONDS)
    except PiError:  # git is not installed
        return None
    if ended.killed:
        raise TookTooLong
    return ended if ended.code == 0 else None


def _number(ended: ExecResult, what: str) -> int:
    found = re.search(rf"(\d+) {what}", ended.stdout)
    return int(found[1]) if found else 0
