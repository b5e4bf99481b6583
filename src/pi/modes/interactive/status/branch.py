"""The git branch of a folder, read from git's own files; only a reftable needs git itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

AskGit = Callable[[Path], Awaitable[str]]
"""Runs ``git`` for the branch of a folder; empty if there is none or no git."""

_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""What HEAD names where references are kept in a table."""


async def branch_of(cwd: Path, ask_git: AskGit) -> str | None:
    """The branch, ``detached`` if there is none, or empty outside of a repository.

    ``None`` if it cannot be told now: git's files are being replaced, or no file can be opened.
    """
    try:
        head = await asyncio.to_thread(_head, cwd)  # a network drive must not stop the screen
    except (OSError, UnicodeDecodeError):
        return None
    if head is None:
        return ""
    if not head.startswith(_BRANCHES):
        return "detached"
    branch = head.removeprefix(_BRANCHES).strip()
    return await ask_git(cwd) if branch == _REFTABLE else branch


def _head(cwd: Path) -> str | None:
    """What HEAD says; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        found = folder / ".git"
        if found.is_file():  # a worktree or a submodule: a file that names the real folder
            target = found.read_text("utf-8").removeprefix("gitdir:").strip()
            found = folder / target
        if found.is_dir():
            return (found / "HEAD").read_text("utf-8")
    return None
