"""Background jobs of a session: work that continues during the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.base.tasks import TaskScope

JobState: TypeAlias = Literal["running", "completed", "failed", "cancelled"]


class JobOutput(Record):
    """The output of a job so far."""

    text: str
    """The end of the output."""
    truncated: bool = False
    full_output_path: str | None = None
    """The file with the whole output, if it was too long."""


class Job:
    """A task in the background. The task returns whether it succeeded."""

    def __init__(
        self, id: str, command: str, work: asyncio.Task[bool], output: Callable[[], JobOutput]
    ) -> None:
        self.id = id
        self.command = command
        self.output = output
        """Returns the output so far."""
        self._work = work
        self._is_cancelled = False

    @property
    def state(self) -> JobState:
        """The current state."""
        if not self._work.done():
            return "running"
        # A cancelled command reports its output as a failure instead of raising the cancellation.
        if self._is_cancelled or self._work.cancelled():
            return "cancelled"
        succeeded = self._work.exception() is None and self._work.result()
        return "completed" if succeeded else "failed"

    async def ended_within(self, seconds: float | None) -> bool:
        """Whether the job ends within ``seconds``; ``None`` waits without limit.

        Cancelling the waiter does not cancel the job.
        """
        done, _ = await asyncio.wait({self._work}, timeout=seconds)
        return bool(done)

    def cancel(self) -> bool:
        """Cancel the task. Returns False if it had ended."""
        if self._work.done():
            return False
        self._is_cancelled = True
        self._work.cancel()
        return True


class SessionJobs:
    """The jobs of a session; they end with its scope."""

    def __init__(self, scope: TaskScope) -> None:
        self._scope = scope
        self._jobs: dict[str, Job] = {}

    def add(
        self,
        command: str,
        work: asyncio.Task[bool],
        output: Callable[[], JobOutput],
        *,
        prefix: str = "job",
    ) -> Job:
        """Turn a running task into a job."""
        job = Job(f"{prefix}-{len(self._jobs) + 1}", command, work, output)
        self._jobs[job.id] = job
        supervisor = self._scope.start(_keep(work), name=f"job {job.id}")
        # ``_keep`` may be cancelled before its first step; then none of its code runs.
        supervisor.add_done_callback(lambda _: work.cancel())
        return job

    def get(self, id: str) -> Job | None:
        """Return a job, running or ended."""
        return self._jobs.get(id)

    @property
    def all(self) -> list[Job]:
        """All jobs in order, running or ended."""
        return list(self._jobs.values())


async def _keep(work: asyncio.Task[bool]) -> None:
    """Wait for a task; cancelling the waiter cancels the task and waits for its end."""
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work})
        raise
