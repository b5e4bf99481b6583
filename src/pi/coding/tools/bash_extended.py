"""bash with ``bash.extended``: variables, a folder, a terminal, jobs, and help with bad habits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated

from pi.agent.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.agent.tool_forms import make_tool
from pi.ai.messages import Json
from pi.base.processes import SpawnFailed
from pi.base.records import UNSET, Meta, Record, UnsetType, field
from pi.coding.files.local import LocalFiles
from pi.coding.shell.fixups import Fixed, fixed
from pi.coding.shell.interception import DEFAULT_RULES, InterceptionRule, intercepted
from pi.coding.shell.jobs import Job, ShellJobs
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import Output
from pi.coding.shell.terminal import Terminal
from pi.coding.tools.bash import Progress, cannot_start, checked_timeout, result_of, with_remark
from pi.coding.tools.descriptions import PREFER_STRICT, description

SHORTEST, LONGEST = 1.0, 3600.0
"""Seconds to which a timeout is bent."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ExtendedParams(Record):
    """What the model says."""

    command: Annotated[str, Meta(description="Command line for bash")]
    env: Annotated[
        dict[str, str] | UnsetType, Meta(description="Variables to set, for text that is hard to quote")
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
    """Whether there is a screen to show one on, and ``PI_NO_PTY`` does not forbid it."""


def extended_bash_tool(
    shell: LocalShell,
    files: LocalFiles,
    jobs: ShellJobs,
    *,
    options: ExtendedOptions,
    tools: Callable[[], Collection[str]] = tuple,
    variables: Callable[[], Mapping[str, str]] = dict,
    open_terminal: Callable[[Terminal, Output], None] = lambda terminal, output: None,
) -> AgentTool:
    """The tool. ``tools`` are those that the model has; ``open_terminal`` shows one to the person."""
    run = _ExtendedBash(shell, files, jobs, options, tools, variables, open_terminal)
    return make_tool(
        name="bash",
        label="bash",
        description=description("bash_extended"),
        params=AsyncParams if options.jobs else ExtendedParams,
        run=run,
        prepare_arguments=None if options.jobs else _refuse_background,
        constrained_sampling=PREFER_STRICT,
    )
