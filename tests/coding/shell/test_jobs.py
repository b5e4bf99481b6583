from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.tasks import TaskScope
from pi.coding.shell.jobs import Job, ShellJobs
from pi.coding.shell.local import Ended
from tests.base.processes.children import needs_posix_shell
from tests.coding.shell.shells import empty_room

pytestmark = needs_posix_shell


async def test_a_job_runs_on_and_its_end_is_reported(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room, TaskScope() as scope:
        ended: list[Job] = []
        jobs = ShellJobs(room.shell, scope, on_end=ended.append)
        go = tmp_path / "go"
        job = jobs.start(f"echo begun; until [ -e {go} ]; do sleep 0.02; done; exit 3")
        jobs.keep(job)

        assert not await job.ended_within(0.05)
        assert (job.state, jobs.running, jobs.get(job.id)) == ("running", [job], job)
        go.touch()
        async with asyncio.timeout(30):
            assert await job.end() == Ended(exit_code=3)

        assert (job.state, jobs.running, ended) == ("failed", [], [job])
        assert job.output.written().tail.content == "begun\n"
        assert jobs.get("bash-9") is None


async def test_a_job_can_be_cancelled_and_ends_with_its_scope(tmp_path: Path) -> None:
    async with empty_room(tmp_path) as room:
        async with TaskScope() as scope:
            jobs = ShellJobs(room.shell, scope, on_end=lambda job: None)
            done, one, other = (jobs.start(c) for c in ("true", "sleep 600", "sleep 600"))
            assert await done.ended_within(10)
            one.cancel()
            assert await one.ended_within(10)
            with pytest.raises(asyncio.CancelledError):
                await one.end()

        assert [job.state for job in (done, one, other)] == [
            "completed",
            "cancelled",
            "cancelled",
        ]
        assert room.left() == []
        assert [job.id for job in (done, one, other)] == ["bash-1", "bash-2", "bash-3"]
