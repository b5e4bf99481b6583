"""The state of the repository, looked at seldom, one look at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pi.batteries.status_engine.file import Files
from pi.batteries.status_engine.git.asking import (
    RunGit,
    TookTooLong,
    ask_branch,
    ask_counts,
    is_harmless,
)
from pi.batteries.status_engine.git.head import DETACHED, Head, find_head
from pi.batteries.status_engine.line_source import Start
from pi.batteries.status_engine.state import GitState
from pi.extension import replace

BUSY = 2.0
"""Seconds between two looks while something happens."""
IDLE = 15.0
"""Seconds between two looks while nothing does."""
GIVEN_UP = 300.0
"""Seconds for which the lines of a repository that is too large are not counted again."""


class GitWatch:
    """Knows the branch and the counts. ``poll`` never waits; ``on_change`` is called after it.

    A look that hangs, on a network drive say, keeps what was known, and no other one is begun.
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
        """Look again soon: something has happened."""
        self._is_stirred = True

    def poll(self, now: float) -> None:
        """Look, if it is time; ``now`` is in seconds of a monotonic clock."""
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
            if self._may_run() and await is_harmless(self._files, head.git_dir):
                await self._ask_git(head, now)
        finally:
            self._is_looking = False

    async def _ask_git(self, head: Head, now: float) -> None:
        if self._given_up is not None and now - self._given_up < GIVEN_UP:
            return
        try:
            branch = head.branch or await ask_branch(self._run) or DETACHED
            counts = await ask_counts(self._run)
        except TookTooLong:
            self._given_up = now
            counts, branch = None, head.branch
        added, removed = counts or (None, None)
        self._know(GitState(branch=branch, added=added, removed=removed))

    def _know(self, state: GitState) -> None:
        if state != self.state:
            self.state = state
            self._on_change()
