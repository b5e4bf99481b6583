"""The bash tool: runs a command and returns the end of its output."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import make_tool
from pi.agent.tools.results import NO_OUTPUT
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult, Update
from pi.ai.messages import Json, Text
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.base.records import Record
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import MAX_BYTES, Output, Written
from pi.coding.shell.spill import size_text
from pi.coding.tools.declarations import PREFER_STRICT, approval_details, description

MAX_TIMEOUT_SECONDS = 7 * 24 * 3600
"""A larger timeout is probably meant in milliseconds."""
UPDATE_INTERVAL_SECONDS = 0.1
"""Time between two snapshots of a running command."""


class BashParams(Record):
    """Arguments of a call."""

    command: Annotated[str, Meta(description="Command line for bash")]
    timeout: Annotated[
        float | UnsetType,
        Meta(description="Seconds after which the command is ended; without it, it may run on"),
    ] = UNSET


def bash_tool(shell: LocalShell, *, variables: Callable[[], Mapping[str, str]] = dict) -> AgentTool:
    """Build the tool. ``variables`` describe the session to commands, e.g. ``PI_SESSION_ID``."""

    async def bash(params: BashParams, ctx: ToolContext) -> ToolResult:
        timeout = validate_timeout(params.timeout)
        output = shell.new_output()
        clock = asyncio.get_running_loop().time
        started = clock()
        async with Progress(ctx.update, output) as progress:
            try:
                end = await shell.run(
                    params.command,
                    output=output,
                    env=variables(),
                    timeout=timeout,
                    on_text=progress.changed,
                )
            except (NoShell, SpawnFailed) as error:
                raise start_failure(error) from error
            except asyncio.CancelledError:
                # Not re-raised: the batch that cancelled this call turns the failure into a
                # result, so that the output so far is not lost.
                raise ToolFailed(output_with_reason(output.written(), "Command aborted")) from None
        return command_result(end, output.written(), timeout=timeout, seconds=clock() - started)

    return make_tool(
        name="bash",
        label="bash",
        description=description("bash"),
        params=BashParams,
        run=bash,
        constrained_sampling=PREFER_STRICT,
        approval="exec",
        format_approval_details=approval_details,
    )


def command_result(
    end: Ended, written: Written, *, timeout: float | None, seconds: float
) -> ToolResult:
    """Return the result of a command that ran for ``seconds``.

    Raises ``ToolFailed`` if it failed or timed out.
    """
    if end.timed_out:
        remark = f"Command timed out after {timeout:g} seconds"
        raise ToolFailed(output_with_reason(written, remark))
    text = bash_result_text(written) or NO_OUTPUT
    details = output_details(written) or UNSET
    structured = structured_output(end, written, seconds=seconds)
    if end.exit_code != 0:
        failure = f"{text}\n\nCommand exited with code {end.exit_code}"
        raise ToolFailed(failure, details=details, structured_content=structured)
    return ToolResult.of(text, details=details, structured_content=structured)


def structured_output(end: Ended, written: Written, *, seconds: float) -> Json:
    """Return the result of a command as a JSON value, for programs."""
    path = written.full_output_path
    return {
        "output": written.tail.content,
        "truncated": written.tail.truncated,
        "exit_code": end.exit_code,
        "wall_time_seconds": round(seconds, 3),
        **({"full_output_path": path} if path else {}),
    }


def validate_timeout(timeout: float | UnsetType) -> float | None:
    """Return the timeout in seconds, or ``None`` for no limit. Raises ``ToolFailed``."""
    if isinstance(timeout, UnsetType):
        return None
    if not math.isfinite(timeout) or not 0 < timeout <= MAX_TIMEOUT_SECONDS:
        raise ToolFailed(
            f"Invalid timeout {timeout:g}: give seconds, more than 0 and at most "
            f"{MAX_TIMEOUT_SECONDS}, or leave it out."
        )
    return timeout


def start_failure(error: PiError) -> ToolFailed:
    """Convert an error about a missing shell or working directory to a tool failure."""
    return ToolFailed(error.explain())


def output_with_reason(written: Written, remark: str) -> str:
    """Return the output so far and the reason why the command was ended."""
    text = bash_result_text(written)
    return f"{text}\n\n{remark}" if text else remark


def bash_result_text(written: Written) -> str:
    """Return the end of an output, with a notice if it was truncated."""
    tail = written.tail
    if not tail.truncated:
        return tail.content
    path = written.full_output_path
    location = f". {written.file_label}: {path}" if path else ""
    first = tail.total_lines - tail.output_lines + 1
    if tail.last_line_partial:
        line = f"line {tail.total_lines} (line is {size_text(written.last_line_bytes)})"
        notice = f"Showing last {size_text(tail.output_bytes)} of {line}"
    else:
        why = f" ({size_text(MAX_BYTES)} limit)" if tail.truncated_by == "bytes" else ""
        notice = f"Showing lines {first}-{tail.total_lines} of {tail.total_lines}{why}"
    return f"{tail.content}\n\n[{notice}{location}]"


def output_details(written: Written) -> Json:
    """Return the result details for views; empty if nothing was truncated."""
    if not written.tail.truncated:
        return {}
    details: Json = {"truncation": written.tail.as_json()}
    if written.full_output_path:
        details["fullOutputPath"] = written.full_output_path
    if written.artifact:
        details["artifactId"] = written.artifact.id
    return details


class Progress:
    """Sends snapshots of the output while a command runs: the first at once, then at intervals.

    A context manager: leaving it sends a last, complete snapshot and stops the timer.
    """

    def __init__(self, update: Update, output: Output) -> None:
        self._update = update
        self._output = output
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._fresh = False

    async def __aenter__(self) -> Progress:
        self._update(ToolResult())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send a last snapshot and stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._show()

    def changed(self, _text: str) -> None:
        """Schedule a snapshot. Called for every piece of output."""
        self._fresh = True
        if self._timer is None:
            self._tick()

    def _tick(self) -> None:
        self._timer = (
            self._loop.call_later(UPDATE_INTERVAL_SECONDS, self._tick) if self._fresh else None
        )
        self._show()

    def _show(self) -> None:
        if not self._fresh:
            return
        self._fresh = False
        written = self._output.written()
        text = Text(text=written.tail.content)
        self._update(ToolResult(content=(text,), details=output_details(written)))
