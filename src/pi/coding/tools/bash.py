"""bash: run a command and show the model the end of what it wrote."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import NO_OUTPUT, make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult, Update
from pi.ai.messages import Json, Text
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.base.records import Record
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import MOST_BYTES, Output, Written
from pi.coding.shell.spill import size_text
from pi.coding.tools.declarations import PREFER_STRICT, description

LONGEST = 7 * 24 * 3600
"""Seconds; whoever asks for more has probably meant milliseconds."""
UPDATE_EVERY = 0.1
"""Seconds between two snapshots of a running command."""


class BashParams(Record):
    """What the model says."""

    command: Annotated[str, Meta(description="Command line for bash")]
    timeout: Annotated[
        float | UnsetType,
        Meta(description="Seconds after which the command is ended; without it, it may run on"),
    ] = UNSET


def bash_tool(shell: LocalShell, *, variables: Callable[[], Mapping[str, str]] = dict) -> AgentTool:
    """The tool; ``variables`` tell a command of the session in which it runs."""

    async def bash(params: BashParams, ctx: ToolContext) -> ToolResult:
        timeout = checked_timeout(params.timeout)
        output = shell.new_output()
        async with Progress(ctx.update, output) as progress:
            try:
                end = await shell.run(
                    params.command,
                    output=output,
                    env=variables(),
                    timeout=timeout,
                    on_text=progress.changed,
                )
            except (NoShell, SpawnFailed) as problem:
                raise cannot_start(problem) from problem
            except asyncio.CancelledError:
                # The batch that cancelled us makes a result of this: what was said is kept.
                raise ToolFailed(with_remark(output.written(), "Command aborted")) from None
        return result_of(end, output.written(), timeout=timeout)

    return make_tool(
        name="bash",
        label="bash",
        description=description("bash"),
        params=BashParams,
        run=bash,
        constrained_sampling=PREFER_STRICT,
    )


def result_of(
    end: Ended, written: Written, *, timeout: float | None, failure: Json | UnsetType = UNSET
) -> ToolResult:
    """What a model is told of a command that has ended; ``failure`` are a failure's details."""
    if end.timed_out:
        remark = f"Command timed out after {timeout:g} seconds"
        raise ToolFailed(with_remark(written, remark), details=failure)
    text = bash_result_text(written) or NO_OUTPUT
    if end.exit_code != 0:
        raise ToolFailed(f"{text}\n\nCommand exited with code {end.exit_code}", details=failure)
    return ToolResult.of(text, details=details_of(written) or UNSET)


def checked_timeout(timeout: float | UnsetType) -> float | None:
    """Seconds that a command may run, or ``None`` for as long as it likes."""
    if isinstance(timeout, UnsetType):
        return None
    if not math.isfinite(timeout) or not 0 < timeout <= LONGEST:
        raise ToolFailed(
            f"Invalid timeout {timeout:g}: give seconds, more than 0 and at most {LONGEST}, "
            "or leave it out."
        )
    return timeout


def cannot_start(problem: PiError) -> ToolFailed:
    """The failure that a model is told of when there is no shell or no working folder."""
    return ToolFailed(problem.explain())


def with_remark(written: Written, remark: str) -> str:
    """What was written before a command was ended, and why it was."""
    text = bash_result_text(written)
    return f"{text}\n\n{remark}" if text else remark


def bash_result_text(written: Written) -> str:
    """The end of an output, and a notice if there is more of it."""
    tail = written.tail
    if not tail.truncated:
        return tail.content
    path = written.full_output_path
    where = f". {written.file_label}: {path}" if path else ""
    first = tail.total_lines - tail.output_lines + 1
    if tail.last_line_partial:
        line = f"line {tail.total_lines} (line is {size_text(written.last_line_bytes)})"
        notice = f"Showing last {size_text(tail.output_bytes)} of {line}"
    else:
        why = f" ({size_text(MOST_BYTES)} limit)" if tail.truncated_by == "bytes" else ""
        notice = f"Showing lines {first}-{tail.total_lines} of {tail.total_lines}{why}"
    return f"{tail.content}\n\n[{notice}{where}]"


def details_of(written: Written) -> Json:
    """What views are told of an output; nothing if all of it is shown."""
    if not written.tail.truncated:
        return {}
    details: Json = {"truncation": written.tail.as_json()}
    if written.full_output_path:
        details["fullOutputPath"] = written.full_output_path
    if written.artifact:
        details["artifactId"] = written.artifact.id
    return details


class Progress:
    """Shows what a command has written while it runs, the first of it at once, then now and then.

    ``async with`` it: nothing is shown afterwards, and the last snapshot is complete.
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
        if self._timer is not None:
            self._timer.cancel()
        self._show()

    def changed(self, _text: str) -> None:
        """Something was written."""
        self._fresh = True
        if self._timer is None:
            self._tick()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(UPDATE_EVERY, self._tick) if self._fresh else None
        self._show()

    def _show(self) -> None:
        if not self._fresh:
            return
        self._fresh = False
        written = self._output.written()
        text = Text(text=written.tail.content)
        self._update(ToolResult(content=(text,), details=details_of(written)))
