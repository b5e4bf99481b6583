"""What the tools of a workspace ask of the session that uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from pi.agent.tools.tool import AgentTool
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.coding.blobs.artifacts import Artifact
from pi.coding.files.layers import FileLayer
from pi.coding.files.local import LocalFiles
from pi.coding.runtime.machine import Environment
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.settings.settings import Settings
from pi.coding.shell.environment import automation_environment
from pi.coding.shell.interception import DEFAULT_RULES, InterceptionRule
from pi.coding.shell.local import LocalShell
from pi.coding.tools.images import ImageLimits

if TYPE_CHECKING:
    from pi.coding.shell.jobs import Job


async def _tell_nobody(job: Job) -> None:
    """No session, no model."""


class ToolSupport(Record):
    """Asked anew every time: model, tools and the session itself change under way."""

    secrets: KnownSecrets | None = None
    """What no command may see."""
    variables: Callable[[], Mapping[str, str]] = dict
    """What the bash tool tells its commands."""
    new_artifact: Callable[[], Artifact | None] = lambda: None
    """A place for a long output, or none when nothing is kept."""
    image_limits: Callable[[], ImageLimits] = ImageLimits
    """What the model takes."""
    file_layers: Callable[[], Sequence[FileLayer]] = tuple
    """What stands around every write."""
    tools: Callable[[], Collection[str]] = tuple
    """Names of the tools that are on."""
    has_screen: bool = False
    """Whether a person looks on, at a terminal of their own."""
    job_ended: Callable[[Job], Awaitable[None]] = _tell_nobody
    """Tells the model of a command that ran on."""


# The bash tool with ``bash.extended``, as the settings want it.


NO_TERMINAL = "PI_NO_PTY"
"""Variable with which a person keeps commands from having a terminal: ``1``."""


class AutoBackground(Record):
    """``bash.autoBackground`` of the settings; needs ``async.enabled``."""

    enabled: bool = False
    threshold_ms: Annotated[int, Meta(ge=0)] = 60_000
    """How long a command may take before it becomes a job."""


class BashValues(Record):
    """``bash`` of the settings."""

    enabled: bool = True
    """Whether models may run commands at all; the person always may."""
    extended: bool = False
    """Whether the model may say more than a command and a timeout."""
    strip_trailing_head_tail: bool = True
    auto_background: AutoBackground = AutoBackground()


class InterceptorValues(Record):
    """``bashInterceptor`` of the settings."""

    enabled: bool = False
    rules: tuple[InterceptionRule, ...] | None = None
    """In place of those that are built in."""


class AsyncValues(Record):
    """``async`` of the settings."""

    enabled: bool = False


def extended_bash(
    settings: Settings,
    shell: LocalShell,
    files: LocalFiles,
    environment: Environment,
    scope: TaskScope,
    session: ToolSupport,
) -> Callable[[], AgentTool] | None:
    """What makes the extended tool; ``None`` when the plain one is wanted, as it usually is."""
    values = settings.section(("bash",), BashValues)
    if not values.extended:
        return None
    # Here, not above: few people use it.
    from pi.base.processes.terminal import has_terminals
    from pi.coding.shell.jobs import ShellJobs
    from pi.coding.tools.bash_extended import BashEnvironment, ExtendedOptions, extended_bash_tool

    def ended(job: Job) -> None:
        if job.state == "cancelled":
            return
        with suppress(RuntimeError):  # the session was closed meanwhile: nobody is left to be told
            scope.start(_told(session, job), name=f"report {job.id}")

    around = BashEnvironment(
        shell=shell,
        files=files,
        jobs=ShellJobs(shell, scope, on_end=ended),
        tools=session.tools,
        variables=lambda: {**automation_environment(environment.values), **session.variables()},
    )
    may_have_terminal = session.has_screen and environment.values.get(NO_TERMINAL) != "1"
    interceptor = settings.section(("bashInterceptor",), InterceptorValues)
    later = values.auto_background
    options = ExtendedOptions(
        strip_trailing_head_tail=values.strip_trailing_head_tail,
        intercept=interceptor.enabled,
        rules=DEFAULT_RULES if interceptor.rules is None else interceptor.rules,
        jobs=settings.section(("async",), AsyncValues).enabled,
        background_after=later.threshold_ms / 1000 if later.enabled else None,
        terminals=may_have_terminal and has_terminals(),
    )
    return partial(extended_bash_tool, around, options)


async def _told(session: ToolSupport, job: Job) -> None:
    await session.job_ended(job)
