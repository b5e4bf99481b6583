"""External sources of the rows: line 3, and the state of the git repository.

Line 3 comes from a command or a file: throttled, one request at a time, never blocking. A command
reads JSON from its standard input; its first output line is shown. A file is read by polling.

Branch and changed lines of the repository are read without running its configured programs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pi.batteries.status_engine.items import GitState
from pi.extension import ExecResult, PiError, Record, replace
from pi.extension.guards import git_command

THROTTLE = 0.3
"""Minimum seconds between two requests."""
MAX_DOUBLINGS = 6
"""Each consecutive failure doubles the interval, up to about 20 s: starting programs is slow."""
GIT_SECONDS = 1.0
"""Timeout for one git command; huge repositories exceed it."""

# Ignores a bare repository that is embedded in the real one.
_GIT_OPTIONS = ("--no-optional-locks", "-c", "safe.bareRepository=explicit")
_UNSAFE_SECTIONS = ("filter", "include", "worktreeconfig")
"""Sections that define filters, or include further files that could define them."""
_DIFF = ("diff", "--shortstat", "--ignore-submodules", "HEAD")
_BRANCH = ("symbolic-ref", "--short", "--quiet", "HEAD")
_GIT_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    # Do not fetch missing objects of a partial clone: slow, and may start programs.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}


class SourceFailed(Exception):
    """No new line is available; the message says why."""


Ask: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Returns the line for a payload, empty if there is none. Raises ``SourceFailed`` on failure."""
Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background."""


class ThrottledSource:
    """Caches the last good line of a command or a file.

    ``mark_stale`` marks the line as outdated; ``poll`` requests a new one when it is due. Several
    ``mark_stale`` calls cause one request. ``on_line`` is called when the line has changed,
    ``on_error`` only for the first of several failures, because a failing command usually fails
    again.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        start: Start,
        on_line: Callable[[], None] = lambda: None,
        on_error: Callable[[str], None] = lambda message: None,
        refresh: float = 0.0,
    ) -> None:
        self.line = ""
        self._ask = ask
        self._start = start
        self._on_line = on_line
        self._on_error = on_error
        self._refresh = refresh
        """Seconds after which even a line that is not stale is requested again; 0 disables that."""
        self._is_stale = True
        self._is_requesting = False
        self._requested_at: float | None = None
        self._failures = 0
        """Consecutive failures."""
        self._has_reported = False

    def mark_stale(self) -> None:
        """Mark the line as outdated."""
        self._is_stale = True

    def poll(self, now: float, payload: Callable[[], bytes]) -> None:
        """Request the line if it is due; ``now`` is in seconds of a monotonic clock.

        Returns at once.
        """
        if self._is_requesting or not self._is_due(now):
            return
        self._is_requesting, self._is_stale, self._requested_at = True, False, now
        self._start(self._answer(payload()))

    def _is_due(self, now: float) -> bool:
        if self._requested_at is None:
            return True
        passed = now - self._requested_at
        return passed >= THROTTLE * 2 ** min(self._failures, MAX_DOUBLINGS) and (
            self._is_stale or (self._refresh > 0 and passed >= self._refresh)
        )

    async def _answer(self, payload: bytes) -> None:
        try:
            line = await self._ask(payload)
        except SourceFailed as error:
            self._fail(str(error))
            return
        finally:
            self._is_requesting = False
        self._failures = 0
        if line != self.line:
            self.line = line
            self._on_line()

    def _fail(self, message: str) -> None:
        self._failures += 1
        if not self._has_reported:
            self._has_reported = True
            self._on_error(message)


class Run(Protocol):
    """Runs a program to its end, as ``pi.exec`` does: with a minimal environment."""

    def __call__(
        self, argv: Sequence[str], *, stdin: bytes, timeout: float
    ) -> Awaitable[ExecResult]:
        """Return the result; the program is killed after ``timeout`` seconds."""
        ...


def command_source(command: str, run: Run, *, timeout_ms: int) -> Ask:
    """Return a source that runs ``command``. On any failure the last good line stays."""

    async def ask(payload: bytes) -> str:
        try:
            ended = await run(arguments(command), stdin=payload, timeout=timeout_ms / 1000)
        except PiError as error:
            raise SourceFailed(f"The status command was not run. {error}") from error
        if ended.killed:
            raise SourceFailed(
                f"The status command {command!r} took longer than {timeout_ms} ms."
                " Make it faster, or raise tui.statusEngine.commandTimeoutMs."
            )
        if ended.code != 0:
            stderr = ended.stderr.strip().splitlines()
            raise SourceFailed(
                f"The status command {command!r} failed with exit code {ended.code}"
                + (f": {stderr[-1]}" if stderr else ".")
            )
        return first_line(ended.stdout)

    return ask


def arguments(command: str, system: str = os.name) -> tuple[str, ...]:
    """Return the argument list: a program given by its absolute path, or the shell."""
    if _is_program(Path(command)):
        return (command,)
    return ("cmd", "/d", "/c", command) if system == "nt" else ("/bin/sh", "-c", command)


def _is_program(path: Path) -> bool:
    # Absolute paths only: a project must not substitute a file of the command's name.
    try:
        return path.is_absolute() and path.is_file() and os.access(path, os.X_OK)
    except OSError:  # too long for a file name
        return False


def first_line(text: str) -> str:
    """Return the first line without trailing spaces."""
    return text.partition("\n")[0].rstrip()


MAX_FILE_BYTES = 65_536
"""Maximum size of the file in bytes."""


class FileInfo(Protocol):
    """File metadata."""

    @property
    def kind(self) -> str:
        """``file``, ``directory`` or ``other``."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...


class Files(Protocol):
    """The part of ``ctx.files`` that is used here."""

    async def stat(self, path: str) -> FileInfo:
        """Return the metadata of a file."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        ...


async def read_small(files: Files, path: str) -> str | None:
    """Return the text of a file; ``None`` if it is missing, too large or not a regular file."""
    try:
        info = await files.stat(path)
        if info.kind != "file" or info.size > MAX_FILE_BYTES:
            return None  # reading a pipe would block
        content = await files.read_file(path)
    except PiError:
        return None
    return content.decode("utf-8", "replace")


def file_source(path: str, files: Files) -> Ask:
    """Return a source that reads the first line of a file; no line if the file is missing."""

    async def ask(payload: bytes) -> str:
        return first_line(await read_small(files, path) or "")

    return ask


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
    return config is not None and not any(word in config.lower() for word in _UNSAFE_SECTIONS)


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
        ended = await run(
            git_command(arguments, options=_GIT_OPTIONS), env=_GIT_ENVIRONMENT, timeout=GIT_SECONDS
        )
    except PiError:  # git is not installed
        return None
    if ended.killed:
        raise GitTimeout
    return ended if ended.code == 0 else None


def _number(ended: ExecResult, noun: str) -> int:
    match = re.search(rf"(\d+) {noun}", ended.stdout)
    return int(match[1]) if match else 0


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
UNWATCHED = 0.9
"""Seconds between two polls if the system does not notify about changes."""
TIMEOUT_PAUSE = 300.0
"""Seconds for which changed lines are not counted again after a timeout."""


class Watching(Protocol):
    """A registration for changes of a folder."""

    def remove(self) -> None:
        """End it."""
        ...


WatchFolder: TypeAlias = Callable[[Path, Callable[[], None]], Watching | None]
"""Calls a function after changes of a folder's entries; ``None`` without notifications."""


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
        watch: WatchFolder,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.state = GitState()
        self._files = files
        self._run = run
        self._cwd = cwd
        self._may_run = may_run
        self._start = start
        self._watch = watch
        self._on_change = on_change
        self._is_stale = False
        self._has_changed = False
        """Whether the system has notified about a change since the last poll."""
        self._is_looking = False
        self._looked: float | None = None
        self._counted: float | None = None
        self._timed_out_at: float | None = None
        self._watched: tuple[Path, Watching | None] | None = None

    def mark_stale(self) -> None:
        """Poll again soon, after an event."""
        self._is_stale = True

    def poll(self, now: float) -> None:
        """Start a poll if one is due; ``now`` is in seconds of a monotonic clock."""
        if self._is_looking or not self._is_due(now):
            return
        self._is_stale = self._is_stale or self._has_changed
        interval = BUSY if self._is_stale else IDLE
        is_counting = self._counted is None or now - self._counted >= interval
        if is_counting:
            self._is_stale = False
        self._is_looking, self._has_changed, self._looked = True, False, now
        self._start(self._look(now, is_counting=is_counting))

    def remove(self) -> None:
        """End the notifications."""
        if self._watched is not None and self._watched[1] is not None:
            self._watched[1].remove()
        self._watched = None

    def _is_due(self, now: float) -> bool:
        if self._looked is None:
            return True
        passed = now - self._looked
        if self._has_changed:
            return passed >= THROTTLE
        is_watched = self._watched is not None and self._watched[1] is not None
        interval = BUSY if self._is_stale else IDLE
        return passed >= (interval if is_watched else min(interval, UNWATCHED))

    async def _look(self, now: float, *, is_counting: bool) -> None:
        try:
            head = await find_head(self._files, self._cwd())
            if head is None:
                self.remove()
                self._set_state(GitState())
                return
            self._follow(head)
            branch = head.branch or self.state.branch
            is_counting = is_counting or branch != self.state.branch
            self._set_state(replace(self.state, branch=branch))
            if not is_counting and head.branch:
                return
            if self._may_run() and await is_safe_repository(self._files, head.git_dir):
                self._counted = now
                await self._ask_git(head, now)
        finally:
            self._is_looking = False

    def _follow(self, head: Head) -> None:
        """Watch the folder in which git replaces the file that names the branch."""
        folder = head.git_dir if head.branch else head.git_dir / "reftable"
        if self._watched is None or self._watched[0] != folder:
            self.remove()
            self._watched = folder, self._watch(folder, self._notice)

    def _notice(self) -> None:
        self._has_changed = True

    async def _ask_git(self, head: Head, now: float) -> None:
        if self._timed_out_at is not None and now - self._timed_out_at < TIMEOUT_PAUSE:
            return
        try:
            branch = head.branch or await read_branch(self._run) or DETACHED
            counts = await ask_counts(self._run)
        except GitTimeout:
            self._timed_out_at = now
            counts, branch = None, head.branch
        added, removed = counts or (None, None)
        self._set_state(GitState(branch=branch, added=added, removed=removed))

    def _set_state(self, state: GitState) -> None:
        if state != self.state:
            self.state = state
            self._on_change()
