"""The extended bash tool (setting ``bash.extended``).

Adds variables, a working directory, a terminal and background jobs. Commands are cleaned up first:
models tend to append ``| head`` or ``2>&1``, which hides output. Only changes that are certain to
keep the meaning are made: a command of several lines, or with unbalanced quotes, is not changed.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.base.processes import SpawnFailed
from pi.base.processes.terminal import ChildTerminal
from pi.base.records import Record
from pi.coding.files.local import LocalFiles
from pi.coding.shell.interception import DEFAULT_RULES, InterceptionRule, find_interception
from pi.coding.shell.jobs import Job, ShellJobs
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import Output
from pi.coding.tools.bash import (
    Progress,
    command_result,
    output_with_reason,
    start_failure,
    validate_timeout,
)
from pi.coding.tools.declarations import PREFER_STRICT, description

_LIMIT = re.compile(
    r"(?<!\s)\s*(?<!\|)\|&?\s*(?P<program>head|tail)(?:\s+(?:-n\s*|--lines[= ])?-?\d+)?\s*$"
)
_MERGED = re.compile(r"(?<!\s)\s+2>&1\s*$")
_ENDLESS = re.compile(
    r"\b(?:yes|ping|watch|top|while|until)\b|/dev/(?:u?random|zero)|\s-\w*[fF]\b|--follow"
)
"""Signs of a command that runs forever unless ``head`` ends it."""
_CHANGE_FOLDER = re.compile(
    r"""cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s'"$`\\;&|<>()*?[\]{}]+))"""
    r"\s*&&\s*(?P<rest>\S.*)"
)


class CleanedCommand(Record):
    """A command line and its working directory."""

    command: str
    cwd: str | None = None
    """Set if the command began with ``cd``."""


def clean_command(command: str, *, strip_limits: bool = True) -> CleanedCommand:
    """Return the command without limits at its end, and its leading ``cd`` as ``cwd``."""
    if strip_limits:
        command = strip_limits_at_end(command)
    moved = _CHANGE_FOLDER.fullmatch(command)
    if moved is None or "\n" in command:
        return CleanedCommand(command=command)
    folder = moved["single"] or moved["double"] or moved["bare"]
    return CleanedCommand(command=moved["rest"], cwd=folder)


def strip_limits_at_end(command: str) -> str:
    """Return the command without ``| head``, ``| tail`` and ``2>&1`` at its end.

    The tool keeps the whole output with standard error and truncates it itself.
    """
    if "\n" in command:
        return command
    shorter = _LIMIT.sub("", command)
    if shorter != command and (not _is_whole(shorter) or _ENDLESS.search(shorter)):
        return command
    merged = _MERGED.sub("", shorter)
    return merged if merged.strip() and _is_whole(merged) else shorter


def _is_whole(command: str) -> bool:
    """Whether the command is not empty and every quote is closed."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 1.0, 3600.0
"""Timeouts outside this range are clamped to it."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ExtendedParams(Record):
    """Arguments of a call."""

    command: Annotated[str, Meta(description="Command line for bash")]
    env: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="Variables to set, for text that is hard to quote"),
    ] = UNSET
    timeout: Annotated[
        float | UnsetType, Meta(description="Seconds, 1 to 3600, after which the command is ended")
    ] = UNSET
    cwd: Annotated[
        str | UnsetType, Meta(description="Folder to run in; the working folder if left out")
    ] = UNSET
    pty: Annotated[
        bool | UnsetType, Meta(description="Run in a terminal, for programs that need one")
    ] = UNSET


class AsyncParams(ExtendedParams):
    """Arguments of a call if background jobs are enabled."""

    in_background: Annotated[
        bool | UnsetType, Meta(description="Return at once with a job that runs on")
    ] = field(default=UNSET, name="async")


class ExtendedOptions(Record):
    """Which features are on, from the settings and the mode."""

    strip_trailing_head_tail: bool = True
    intercept: bool = False
    rules: tuple[InterceptionRule, ...] = DEFAULT_RULES
    jobs: bool = False
    background_after: float | None = None
    """Seconds after which a command that still runs becomes a job."""
    terminals: bool = False
    """Whether ``pty`` has an effect: the mode can show a terminal and the settings allow it."""


class BashEnvironment(Record):
    """What the tool needs to run commands."""

    shell: LocalShell
    files: LocalFiles
    jobs: ShellJobs
    tools: Callable[[], Collection[str]] = tuple
    """Returns the names of the active tools."""
    variables: Callable[[], Mapping[str, str]] = dict
    """Returns variables that describe the session to commands."""
    terminal_opened: Callable[[str, ChildTerminal], Awaitable[None]] | None = None
    """Called with the id of the call and its terminal, before the command starts."""


def extended_bash_tool(environment: BashEnvironment, options: ExtendedOptions) -> AgentTool:
    """Build the tool."""

    async def bash(params: ExtendedParams, ctx: ToolContext) -> ToolResult:
        line = _line(params, options)
        if options.intercept:
            refusal = find_interception(line.command, options.rules, environment.tools())
            if refusal:
                raise ToolFailed(refusal)
        call = BashCall(
            command=line.command,
            cwd=_folder(line.cwd, environment.files),
            env={**environment.variables(), **_variables(params)},
            timeout=_timeout(params),
        )
        if params.pty is True and options.terminals:
            return await _in_terminal(call, environment, ctx)
        return await _as_job(call, environment, ctx, _wait_seconds(params, options))

    return make_tool(
        name="bash",
        label="bash",
        description=description("bash_extended"),
        params=AsyncParams if options.jobs else ExtendedParams,
        run=bash,
        prepare_arguments=partial(_checked, jobs=options.jobs),
        constrained_sampling=PREFER_STRICT,
    )


class BashCall(Record):
    """A command after clean-up and validation."""

    command: str
    cwd: Path | None
    env: dict[str, str]
    timeout: float | None


async def _as_job(
    call: BashCall, environment: BashEnvironment, ctx: ToolContext, wait_seconds: float | None
) -> ToolResult:
    """Run a command; after ``wait_seconds`` it becomes a background job."""
    shown: list[Progress] = []
    job = environment.jobs.start(
        call.command,
        cwd=call.cwd,
        env=call.env,
        timeout=call.timeout,
        on_text=lambda text: shown[0].changed(text) if shown else None,
        kind="job" if wait_seconds == 0 else "bash",
    )
    async with Progress(ctx.update, job.output) as progress:
        shown.append(progress)
        try:
            if wait_seconds is not None and not await job.ended_within(wait_seconds):
                environment.jobs.keep(job)
                return _handle(job)
            return _result(await job.end(), job.output, call)
        except (NoShell, SpawnFailed) as error:
            raise start_failure(error) from error
        except asyncio.CancelledError:
            job.cancel()
            await job.ended_within(MAX_TIMEOUT_SECONDS)
            # As in ``bash``: the output so far is kept in the failure.
            raise ToolFailed(output_with_reason(job.output.written(), "Command aborted")) from None
        finally:
            shown.clear()


async def _in_terminal(
    call: BashCall, environment: BashEnvironment, ctx: ToolContext
) -> ToolResult:
    terminal, output = ChildTerminal(), environment.shell.new_output(harmless=True)
    if environment.terminal_opened is not None:
        await environment.terminal_opened(ctx.call_id, terminal)
    async with Progress(ctx.update, output) as progress:
        try:
            end = await environment.shell.run(
                call.command,
                output=output,
                cwd=call.cwd,
                env=call.env,
                timeout=call.timeout,
                terminal=terminal,
                on_text=progress.changed,
            )
        except (NoShell, SpawnFailed) as error:
            raise start_failure(error) from error
        except asyncio.CancelledError:
            raise ToolFailed(output_with_reason(output.written(), "Command aborted")) from None
    return _result(end, output, call)


def _result(end: Ended, output: Output, call: BashCall) -> ToolResult:
    failure: Json = {"exitCode": end.exit_code}
    return command_result(end, output.written(), timeout=call.timeout, failure=failure)


def _handle(job: Job) -> ToolResult:
    text = job.output.written().tail.content
    said = f"{text}\n\n" if text else ""
    return ToolResult.of(
        f"{said}The command runs on as job {job.id}. You will be notified when it ends.",
        details={"jobId": job.id, "state": job.state},
    )


def _checked(arguments: Json, *, jobs: bool) -> Json:
    if arguments.get("async") is True and not jobs:
        raise ToolFailed("Jobs are switched off (async.enabled), so async cannot be used here.")
    return arguments


def _line(params: ExtendedParams, options: ExtendedOptions) -> CleanedCommand:
    if not isinstance(params.cwd, UnsetType):
        strip = options.strip_trailing_head_tail
        command = strip_limits_at_end(params.command) if strip else params.command
        return CleanedCommand(command=command, cwd=params.cwd)
    return clean_command(params.command, strip_limits=options.strip_trailing_head_tail)


def _folder(cwd: str | None, files: LocalFiles) -> Path | None:
    if cwd is None:
        return None
    folder = files.resolve(cwd)
    if not folder.exists():
        raise ToolFailed(f"Working directory does not exist: {folder}")
    if not folder.is_dir():
        raise ToolFailed(f"Working directory is not a directory: {folder}")
    return folder


def _variables(params: ExtendedParams) -> dict[str, str]:
    given = {} if isinstance(params.env, UnsetType) else params.env
    for name in given:
        if not _NAME.fullmatch(name):
            raise ToolFailed(f"{name!r} cannot be the name of a variable: use letters, digits, _.")
    return given


def _timeout(params: ExtendedParams) -> float | None:
    seconds = validate_timeout(params.timeout)
    return None if seconds is None else min(max(seconds, MIN_TIMEOUT_SECONDS), MAX_TIMEOUT_SECONDS)


def _wait_seconds(params: ExtendedParams, options: ExtendedOptions) -> float | None:
    if isinstance(params, AsyncParams) and params.in_background is True:
        return 0.0
    return options.background_after if options.jobs else None
