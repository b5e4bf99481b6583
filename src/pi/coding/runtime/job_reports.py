"""The end of a command that ran on, as the model is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.coding.session.messages import CustomMessage
from pi.coding.tools.bash import shown_text

if TYPE_CHECKING:
    from pi.coding.runtime.core import Core
    from pi.coding.shell.jobs import Job

KIND = "bash_job"
"""The custom type of these messages."""
HOW = {"completed": "has succeeded", "failed": "has failed", "cancelled": "was ended"}


async def report_job(core: Core, job: Job) -> None:
    """Tell it in the run that is under way; at rest it waits in the conversation for the next."""
    message = CustomMessage(
        custom_type=KIND,
        content=_text(job),
        details={"jobId": job.id, "state": job.state},
        timestamp=core.host.clock.now_ms(),
    )
    await (core.agent.steer if core.agent.is_running else core.say)(message)


def _text(job: Job) -> str:
    said = shown_text(job.output.written())
    how = f"The job {job.id} {HOW[job.state]}: {job.command}"
    return f"{how}\n\n{said}" if said else how
