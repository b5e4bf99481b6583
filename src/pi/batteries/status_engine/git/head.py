"""Where HEAD is, read from git's own files."""

from __future__ import annotations

from pathlib import Path

from pi.batteries.status_engine.file import Files, read_small
from pi.extension import Record

DETACHED = "detached"
_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""What HEAD names where references are kept in a table that only git reads."""


class Head(Record):
    """A repository, and what is checked out."""

    git_dir: Path
    """Where HEAD lies: of a worktree its own folder, not the repository's."""
    branch: str
    """Empty if only git can tell."""


async def find_head(files: Files, cwd: Path) -> Head | None:
    """The HEAD that counts in ``cwd``; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        git_dir = folder / ".git"
        head = await read_small(files, str(git_dir / "HEAD"))
        if head is None and (pointer := await read_small(files, str(git_dir))) is not None:
            # A worktree or a submodule: a file that names the real folder.
            git_dir = folder / pointer.removeprefix("gitdir:").strip()
            head = await read_small(files, str(git_dir / "HEAD"))
        if head is not None:
            return Head(git_dir=git_dir, branch=_branch(head))
    return None


def _branch(head: str) -> str:
    if not head.startswith(_BRANCHES):
        return DETACHED
    name = head.removeprefix(_BRANCHES).strip()
    return "" if name == _REFTABLE else name
