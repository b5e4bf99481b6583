"""Background jobs: commands that run while the conversation continues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from pi.agent.env import OnOutput
from pi.base.tasks import TaskScope
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.output import Output

JobState: TypeAlias = Literal["running", "completed", "failed", "cancelled"]


class Job:
    """A running command; ``output`` can be read at any time."""

    def __init__(self, id: str, command: str, output: Output, work: asyncio.Task[Ended]) -> None:
        self.id = id
        self.command = command
        self.output = output
        self._work = work

    @property
    def state(self) -> JobState:
        """The current state."""
        if not self._work.done():
            return "running"
        if self._work.cancelled():
            return "cancelled"
        failed = self._work.exception() is not None or self._work.result().exit_code != 0
        return "failed" if failed else "completed"

    async def end(self) -> Ended:
        """Wait for the end. Raises if the command could not be started.

        Cancelling the waiter cancels the job.
        """
        return await self._work

    async def ended_within(self, seconds: float) -> bool:
        """Whether it ends in time. Cancelling the waiter does not cancel the job."""
        done, _ = await asyncio.wait({self._work}, timeout=seconds)
        return bool(done)

    def cancel(self) -> None:
        """Terminate the command and its child processes."""
        self._work.cancel()


class ShellJobs:
    """The jobs of a session; they end with its scope. ``on_end`` is called for each kept job."""

    def __init__(
        self, shell: LocalShell, scope: TaskScope, *, on_end: Callable[[Job], None]
    ) -> None:
        self._shell = shell
        self._scope = scope
        self._on_end = on_end
        self._jobs: dict[str, Job] = {}
        self._started = 0

    def start(
        self,
        command: str,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_text: OnOutput = lambda text: None,
        kind: str = "bash",
    ) -> Job:
        """Run a command. ``on_end`` is called for it only after ``keep``."""
        output = self._shell.new_output()
        run = self._shell.run(
            command, output=output, cwd=cwd, env=env, timeout=timeout, on_text=on_text, kind=kind
        )
        self._started += 1
        id = f"bash-{self._started}"
        return Job(id, command, output, self._scope.start(run, name=f"job {id}"))

    def keep(self, job: Job) -> None:
        """Keep a job after the call that started it, and report its end."""
        self._jobs[job.id] = job
        job._work.add_done_callback(lambda _: self._on_end(job))

    def get(self, id: str) -> Job | None:
        """Return a kept job, running or ended."""
        return self._jobs.get(id)

    @property
    def all(self) -> list[Job]:
        """Kept jobs in order, running or ended."""
        return list(self._jobs.values())

    @property
    def running(self) -> list[Job]:
        """Kept jobs that have not ended."""
        return [job for job in self._jobs.values() if job.state == "running"]
