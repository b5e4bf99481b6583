"""Branch and changed lines of the repository, read without running its configured programs.

A repository's configuration can name programs that git starts by itself: file system monitors,
filters, pagers, external diffs, transports. Options disable all of them except filters, so a
repository that configures filters is not counted. HEAD is read from git's files where possible.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pi.batteries.status_engine.items import GitState
from pi.batteries.status_engine.sources import Files, Start, read_small
from pi.extension import ExecResult, PiError, Record, replace

SECONDS = 1.0
"""Timeout for one git command; huge repositories exceed it."""

_GIT = (
    "git",
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    # Ignores a bare repository that is embedded in the real one.
    *("-c", "safe.bareRepository=explicit"),
)
_BRINGING = ("filter", "include", "worktreeconfig")
"""Sections that define filters, or include further files that could define them."""
_DIFF = ("diff", "--shortstat", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "HEAD")
_BRANCH = ("symbolic-ref", "--short", "--quiet", "HEAD")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    # Do not fetch missing objects of a partial clone: slow, and may start programs.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}


class GitTimeout(Exception):
    """Git did not finish in time."""


class RunGit(Protocol):
    """Runs a program to its end, as ``pi.exec`` does."""

    def __call__(
        self, argv: Sequence[str], *, env: Mapping[str, str], timeout: float
    ) -> Awaitable[ExecResult]:
        """Return the result; the program is killed after ``timeout`` seconds."""
        ...


async def is_safe_repository(files: Files, git_dir: Path) -> bool:
    """Whether the repository's own configuration is readable and defines no filters."""
    common = await read_small(files, str(git_dir / "commondir"))
    shared = git_dir if common is None else git_dir / common.strip()
    config = await read_small(files, str(shared / "config"))
    return config is not None and not any(word in config.lower() for word in _BRINGING)


async def read_branch(run: RunGit) -> str:
    """Return the branch; empty if there is none, or git is missing."""
    ended = await _ask(run, _BRANCH)
    return "" if ended is None else ended.stdout.strip()


async def ask_counts(run: RunGit) -> tuple[int, int] | None:
    """Return lines added and removed since the last commit; ``None`` before the first commit."""
    ended = await _ask(run, _DIFF)
    return None if ended is None else (_number(ended, "insertion"), _number(ended, "deletion"))


async def _ask(run: RunGit, arguments: Sequence[str]) -> ExecResult | None:
    try:
        ended = await run((*_GIT, *arguments), env=_ENVIRONMENT, timeout=SECONDS)
    except PiError:  # git is not installed
        return None
    if ended.killed:
        raise GitTimeout
    return ended if ended.code == 0 else None


def _number(ended: ExecResult, what: str) -> int:
    found = re.search(rf"(\d+) {what}", ended.stdout)
    return int(found[1]) if found else 0


DETACHED = "detached"
_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""The branch that HEAD names if references are stored in a reftable, which only git can read."""


class Head(Record):
    """The git directory and the checked-out branch."""

    git_dir: Path
    """The directory that contains HEAD; for a worktree its own directory."""
    branch: str
    """Empty if only git can resolve it."""


async def find_head(files: Files, cwd: Path) -> Head | None:
    """Return the HEAD that applies to ``cwd``; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        git_dir = folder / ".git"
        head = await read_small(files, str(git_dir / "HEAD"))
        if head is None and (pointer := await read_small(files, str(git_dir))) is not None:
            # In a worktree or submodule ``.git`` is a file that names the real directory.
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


BUSY = 2.0
"""Seconds between two polls while the agent is active."""
IDLE = 15.0
"""Seconds between two polls while it is idle."""
TIMEOUT_PAUSE = 300.0
"""Seconds for which changed lines are not counted again after a timeout."""


class GitPoller:
    """Polls branch and counts. ``poll`` never blocks; ``on_change`` is called when a poll is done.

    A poll that hangs, for example on a network drive, keeps the last values, and no second one is
    started.
    """

    def __init__(
        self,
        files: Files,
        run: RunGit,
        *,
        cwd: Callable[[], Path],
        may_run: Callable[[], bool],
        start: Start,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.state = GitState()
        self._files = files
        self._run = run
        self._cwd = cwd
        self._may_run = may_run
        self._start = start
        self._on_change = on_change
        self._is_stirred = False
        self._is_looking = False
        self._looked: float | None = None
        self._given_up: float | None = None

    def stir(self) -> None:
        """Poll again soon, after an event."""
        self._is_stirred = True

    def poll(self, now: float) -> None:
        """Start a poll if one is due; ``now`` is in seconds of a monotonic clock."""
        if self._is_looking or not self._is_due(now):
            return
        self._is_looking, self._is_stirred, self._looked = True, False, now
        self._start(self._look(now))

    def _is_due(self, now: float) -> bool:
        if self._looked is None:
            return True
        return now - self._looked >= (BUSY if self._is_stirred else IDLE)

    async def _look(self, now: float) -> None:
        try:
            head = await find_head(self._files, self._cwd())
            if head is None:
                self._know(GitState())
                return
            self._know(replace(self.state, branch=head.branch or self.state.branch))
            if self._may_run() and await is_safe_repository(self._files, head.git_dir):
                await self._ask_git(head, now)
        finally:
            self._is_looking = False

    async def _ask_git(self, head: Head, now: float) -> None:
        if self._given_up is not None and now - self._given_up < TIMEOUT_PAUSE:
            return
        try:
            branch = head.branch or await read_branch(self._run) or DETACHED
            counts = await ask_counts(self._run)
        except GitTimeout:
            self._given_up = now
            counts, branch = None, head.branch
        added, removed = counts or (None, None)
        self._know(GitState(branch=branch, added=added, removed=removed))

    def _know(self, state: GitState) -> None:
        if state != self.state:
            self.state = state
            self._on_change()
