"""bash with ``bash.extended``: variables, a folder, a terminal, jobs, and help with bad habits."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Collection, Mapping
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
from pi.coding.shell.interception import DEFAULT_RULES, InterceptionRule, intercepted
from pi.coding.shell.jobs import Job, ShellJobs
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import Output
from pi.coding.tools.bash import Progress, cannot_start, checked_timeout, result_of, with_remark
from pi.coding.tools.declarations import PREFER_STRICT, description

# Habits of models that hide output from everybody, taken out of a command line. Pure.
#
# Only what is certain to change nothing else: a command of several lines, or with open quotes,
# stays.


_LIMIT = re.compile(
    r"(?<!\s)\s*(?<!\|)\|&?\s*(?P<program>head|tail)(?:\s+(?:-n\s*|--lines[= ])?-?\d+)?\s*$"
)
_MERGED = re.compile(r"(?<!\s)\s+2>&1\s*$")
_ENDLESS = re.compile(
    r"\b(?:yes|ping|watch|top|while|until)\b|/dev/(?:u?random|zero)|\s-\w*[fF]\b|--follow"
)
"""Signs of a command that only ``head`` brings to an end."""
_CHANGE_FOLDER = re.compile(
    r"""cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s'"$`\\;&|<>()*?[\]{}]+))"""
    r"\s*&&\s*(?P<rest>\S.*)"
)


class Fixed(Record):
    """A command line and where it is to run."""

    command: str
    cwd: str | None = None
    """Set if the command began by going there."""


def fixed(command: str, *, strip_limits: bool = True) -> Fixed:
    """A command without a limit at its end, and with its leading ``cd`` as a folder."""
    if strip_limits:
        command = without_limits(command)
    moved = _CHANGE_FOLDER.fullmatch(command)
    if moved is None or "\n" in command:
        return Fixed(command=command)
    folder = moved["single"] or moved["double"] or moved["bare"]
    return Fixed(command=moved["rest"], cwd=folder)


def without_limits(command: str) -> str:
    """A command without ``| head``, ``| tail`` and ``2>&1`` at its end.

    All that a command writes is kept anyway, errors too, and only the end is shown.
    """
    if "\n" in command:
        return command
    shorter = _LIMIT.sub("", command)
    if shorter != command and (not _is_whole(shorter) or _ENDLESS.search(shorter)):
        return command
    merged = _MERGED.sub("", shorter)
    return merged if merged.strip() and _is_whole(merged) else shorter


def _is_whole(command: str) -> bool:
    """Whether every quote is closed."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


SHORTEST, LONGEST = 1.0, 3600.0
"""Seconds to which a timeout is bent."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ExtendedParams(Record):
    """What the model says."""

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
    """What the model says where jobs are allowed."""

    in_background: Annotated[
        bool | UnsetType, Meta(description="Return at once with a job that runs on")
    ] = field(default=UNSET, name="async")


class ExtendedOptions(Record):
    """What of it is on, as settings and mode say."""

    strip_trailing_head_tail: bool = True
    intercept: bool = False
    rules: tuple[InterceptionRule, ...] = DEFAULT_RULES
    jobs: bool = False
    background_after: float | None = None
    """Seconds after which a command that still runs becomes a job."""
    terminals: bool = False
    """Whether ``pty`` has an effect: there is somebody to show it to, and nobody forbids it."""


class BashEnvironment(Record):
    """Where the tool runs its commands, and who should know."""

    shell: LocalShell
    files: LocalFiles
    jobs: ShellJobs
    tools: Callable[[], Collection[str]] = tuple
    """Names of the tools that the model has."""
    variables: Callable[[], Mapping[str, str]] = dict
    """Tell a command of the session in which it runs."""
    open_terminal: Callable[[ChildTerminal, Output], None] = lambda terminal, output: None
    """Shows a terminal to the person."""


def extended_bash_tool(around: BashEnvironment, options: ExtendedOptions) -> AgentTool:
    """The tool."""

    async def bash(params: ExtendedParams, ctx: ToolContext) -> ToolResult:
        line = _line(params, options)
        if options.intercept:
            refusal = intercepted(line.command, options.rules, around.tools())
            if refusal:
                raise ToolFailed(refusal)
        call = Call(
            command=line.command,
            cwd=_folder(line.cwd, around.files),
            env={**around.variables(), **_variables(params)},
            timeout=_timeout(params),
        )
        if params.pty is True and options.terminals:
            return await _in_terminal(call, around, ctx)
        return await _as_job(call, around, ctx, _patience(params, options))

    return make_tool(
        name="bash",
        label="bash",
        description=description("bash_extended"),
        params=AsyncParams if options.jobs else ExtendedParams,
        run=bash,
        prepare_arguments=partial(_checked, jobs=options.jobs),
        constrained_sampling=PREFER_STRICT,
    )


class Call(Record):
    """A command as it is run in the end."""

    command: str
    cwd: Path | None
    env: dict[str, str]
    timeout: float | None


async def _as_job(
    call: Call, around: BashEnvironment, ctx: ToolContext, patience: float | None
) -> ToolResult:
    """Run a command; after ``patience`` seconds it goes on without anybody waiting for it."""
    shown: list[Progress] = []
    job = around.jobs.start(
        call.command,
        cwd=call.cwd,
        env=call.env,
        timeout=call.timeout,
        on_text=lambda text: shown[0].changed(text) if shown else None,
    )
    async with Progress(ctx.update, job.output) as progress:
        shown.append(progress)
        try:
            if patience is not None and not await job.ended_within(patience):
                around.jobs.keep(job)
                return _handle(job)
            return _result(await job.end(), job.output, call)
        except (NoShell, SpawnFailed) as problem:
            raise cannot_start(problem) from problem
        except asyncio.CancelledError:
            job.cancel()
            await job.ended_within(LONGEST)
            # The batch that cancelled us makes a result of this: what was said is kept.
            raise ToolFailed(with_remark(job.output.written(), "Command aborted")) from None
        finally:
            shown.clear()


async def _in_terminal(call: Call, around: BashEnvironment, ctx: ToolContext) -> ToolResult:
    terminal, output = ChildTerminal(), around.shell.new_output(harmless=True)
    around.open_terminal(terminal, output)
    async with Progress(ctx.update, output) as progress:
        try:
            end = await around.shell.run(
                call.command,
                output=output,
                cwd=call.cwd,
                env=call.env,
                timeout=call.timeout,
                terminal=terminal,
                on_text=progress.changed,
            )
        except (NoShell, SpawnFailed) as problem:
            raise cannot_start(problem) from problem
        except asyncio.CancelledError:
            raise ToolFailed(with_remark(output.written(), "Command aborted")) from None
    return _result(end, output, call)


def _result(end: Ended, output: Output, call: Call) -> ToolResult:
    failure: Json = {"exitCode": end.exit_code}
    return result_of(end, output.written(), timeout=call.timeout, failure=failure)


def _handle(job: Job) -> ToolResult:
    text = job.output.written().tail.content
    said = f"{text}\n\n" if text else ""
    return ToolResult.of(
        f"{said}The command runs on as job {job.id}. You will be told when it ends.",
        details={"jobId": job.id, "state": job.state},
    )


def _checked(arguments: Json, *, jobs: bool) -> Json:
    if arguments.get("async") is True and not jobs:
        raise ToolFailed("Jobs are switched off (async.enabled), so async cannot be used here.")
    return arguments


def _line(params: ExtendedParams, options: ExtendedOptions) -> Fixed:
    if not isinstance(params.cwd, UnsetType):
        strip = options.strip_trailing_head_tail
        command = without_limits(params.command) if strip else params.command
        return Fixed(command=command, cwd=params.cwd)
    return fixed(params.command, strip_limits=options.strip_trailing_head_tail)


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
    wanted = checked_timeout(params.timeout)
    return None if wanted is None else min(max(wanted, SHORTEST), LONGEST)


def _patience(params: ExtendedParams, options: ExtendedOptions) -> float | None:
    if isinstance(params, AsyncParams) and params.in_background is True:
        return 0.0
    return options.background_after if options.jobs else None
