from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pi.batteries.status_engine.items import GitState
from pi.batteries.status_engine.sources import (
    BUSY,
    IDLE,
    THROTTLE,
    TIMEOUT_PAUSE,
    UNWATCHED,
    GitPoller,
    Watching,
)
from pi.coding.files.local import LocalFiles
from pi.extension import ExecResult, Registration


class WatchedRepository:
    """A repository with only a HEAD, and a fake git with configurable responses."""

    def __init__(self, folder: Path, head: str | None = "ref: refs/heads/main") -> None:
        self.folder = folder
        self.trusted = True
        self.killed = False
        self.notifies = True
        self.stdout = " 1 file changed, 2 insertions(+), 1 deletion(-)\n"
        self.asked: list[str] = []
        self.states: list[GitState] = []
        self.held: asyncio.Event | None = None
        self._tasks: list[asyncio.Task[None]] = []
        if head is not None:
            self.check_out(head)
        self.watch = GitPoller(
            LocalFiles(lambda: folder, home=str(folder)),
            self._run,
            cwd=lambda: folder,
            may_run=lambda: self.trusted,
            start=self._start,
            watch=self._watch_folder,
            on_change=lambda: self.states.append(self.watch.state),
        )

    def check_out(self, head: str) -> None:
        (self.folder / ".git").mkdir(exist_ok=True)
        (self.folder / ".git" / "HEAD").write_text(head)
        (self.folder / ".git" / "config").write_text("[core]\n")

    async def look(self, now: float) -> GitState:
        self.watch.poll(now)
        await asyncio.gather(*self._tasks)
        return self.watch.state

    @property
    def looks(self) -> int:
        return len(self._tasks)

    def _watch_folder(self, folder: Path, on_change: Callable[[], None]) -> Watching | None:
        self.notify = on_change
        return Registration(lambda: None) if self.notifies else None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    async def _run(
        self, argv: Sequence[str], *, env: Mapping[str, str], timeout: float
    ) -> ExecResult:
        self.asked.append(next(word for word in argv if word in ("diff", "symbolic-ref")))
        if self.held is not None:
            await self.held.wait()
        stdout = "table\n" if self.asked[-1] == "symbolic-ref" else self.stdout
        return ExecResult(stdout=stdout, stderr="", code=0, killed=self.killed)


async def test_the_branch_is_published_before_its_lines_are_counted(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path)

    await yard.look(0.0)

    assert yard.states == [GitState(branch="main"), GitState(branch="main", added=2, removed=1)]


async def test_git_never_runs_in_a_directory_that_is_not_trusted(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path)
    yard.trusted = False

    assert (await yard.look(0.0), yard.asked) == (GitState(branch="main"), [])
    yard.check_out("ref: refs/heads/.invalid")
    assert (await yard.look(IDLE), yard.asked) == (GitState(branch="main"), [])


async def test_git_never_runs_where_the_repository_names_filters(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path)
    (tmp_path / ".git" / "config").write_text('[filter "x"]\nclean = evil\n')

    assert (await yard.look(0.0), yard.asked) == (GitState(branch="main"), [])


async def test_the_branch_of_a_reftable_repository_is_read_with_git(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path, "ref: refs/heads/.invalid")

    assert await yard.look(0.0) == GitState(branch="table", added=2, removed=1)


async def test_outside_of_a_repository_the_state_is_empty(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path, None)

    assert (await yard.look(0.0), yard.states, yard.asked) == (GitState(), [], [])


async def test_the_state_is_cleared_when_the_repository_is_removed(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path)
    await yard.look(0.0)

    (tmp_path / ".git" / "HEAD").unlink()

    assert await yard.look(IDLE) == GitState()


async def test_polling_is_more_frequent_after_an_event(
    tmp_path: Path,
) -> None:
    yard = WatchedRepository(tmp_path)
    looks = []

    for now, happens in ((0, True), (1, True), (BUSY, True), (BUSY + 14, False), (17, False)):
        if happens:
            yard.watch.mark_stale()
        await yard.look(now)
        looks.append(yard.looks)

    assert looks == [1, 1, 2, 2, 3]


@pytest.mark.behaviour("footer-branch")
async def test_no_second_poll_starts_while_one_is_running_and_the_last_state_is_kept(
    tmp_path: Path,
) -> None:
    yard = WatchedRepository(tmp_path)
    await yard.look(0.0)
    yard.held = asyncio.Event()

    yard.watch.poll(IDLE)
    yard.watch.poll(IDLE * 2)
    yard.watch.poll(IDLE * 3)

    assert (yard.looks, yard.watch.state) == (2, GitState(branch="main", added=2, removed=1))
    yard.held.set()
    await yard.look(IDLE * 4)


async def test_after_a_timeout_the_counts_are_dropped_and_not_requested_for_a_while(
    tmp_path: Path,
) -> None:
    yard = WatchedRepository(tmp_path)
    yard.killed = True

    given_up = await yard.look(0.0)
    yard.killed = False
    left_alone = await yard.look(IDLE)
    counted = await yard.look(TIMEOUT_PAUSE)

    assert given_up == left_alone == GitState(branch="main")
    assert counted == GitState(branch="main", added=2, removed=1)
    assert yard.asked == ["diff", "diff"]


async def test_a_notification_shows_the_branch_at_the_next_tick(tmp_path: Path) -> None:
    yard = WatchedRepository(tmp_path)
    await yard.look(0.0)

    yard.check_out("ref: refs/heads/other")
    assert (await yard.look(THROTTLE)).branch == "main"
    yard.notify()
    assert (await yard.look(THROTTLE)).branch == "other"


async def test_without_notifications_the_branch_is_polled_and_lines_are_counted_seldom(
    tmp_path: Path,
) -> None:
    yard = WatchedRepository(tmp_path)
    yard.notifies = False
    await yard.look(0.0)
    await yard.look(UNWATCHED)
    assert yard.asked == ["diff"]

    yard.check_out("ref: refs/heads/other")
    assert (await yard.look(2 * UNWATCHED)).branch == "other"
    assert yard.asked == ["diff", "diff"]
