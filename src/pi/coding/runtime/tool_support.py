"""``ToolSupport``: what tools need from their session; and the extended bash tool from settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
    from pi.base.processes.terminal import ChildTerminal
    from pi.coding.shell.jobs import Job, ShellJobs
    from pi.coding.shell.spawns import SpawnWrap


class ToolSupport:
    """What tools need from their session. These defaults are for tools without a session."""

    has_screen = False
    """Whether the user watches in a terminal."""

    def __init__(self, secrets: KnownSecrets | None = None) -> None:
        self.secrets = secrets
        """Secrets that commands must not see."""

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables for commands of the bash tool."""
        return {}

    def new_artifact(self) -> Artifact | None:
        """Create an artifact for a long output; ``None`` if nothing is stored."""
        return None

    def image_limits(self) -> ImageLimits:
        """Return the image limits of the model."""
        return ImageLimits()

    def file_layers(self) -> Sequence[FileLayer]:
        """Return the file layers around every write."""
        return ()

    def spawn_wraps(self, kind: str) -> Sequence[SpawnWrap]:
        """Return the wraps around processes of a kind."""
        return ()

    def tools(self) -> Collection[str]:
        """Return the names of the active tools."""
        return ()

    async def terminal_opened(self, call_id: str, terminal: ChildTerminal) -> None:
        """Called before a command starts in a terminal."""

    async def job_ended(self, job: Job) -> None:
        """Report a finished background job; without a session there is no model to receive it."""


NO_TERMINAL = "PI_NO_PTY"
"""Variable that disables terminals for commands: ``1``."""


class AutoBackground(Record):
    """``bash.autoBackground`` of the settings; needs ``async.enabled``."""

    enabled: bool = False
    threshold_ms: Annotated[int, Meta(ge=0)] = 60_000
    """Milliseconds before a command becomes a job."""


class BashValues(Record):
    """``bash`` of the settings."""

    enabled: bool = True
    """Whether models may run commands; the user always may."""
    extended: bool = False
    """Whether the model may pass more than a command and a timeout."""
    strip_trailing_head_tail: bool = True
    auto_background: AutoBackground = AutoBackground()


class InterceptorValues(Record):
    """``bashInterceptor`` of the settings."""

    enabled: bool = False
    rules: tuple[InterceptionRule, ...] | None = None
    """Replaces the built-in rules."""


class AsyncValues(Record):
    """``async`` of the settings."""

    enabled: bool = False


def shell_jobs(
    settings: Settings, shell: LocalShell, scope: TaskScope, session: ToolSupport
) -> ShellJobs | None:
    """Return the background jobs of the extended tool; ``None`` without it."""
    if not settings.section(("bash",), BashValues).extended:
        return None
    from pi.coding.shell.jobs import ShellJobs  # lazy: few users turn it on

    def ended(job: Job) -> None:
        if job.state == "cancelled":
            return
        with suppress(RuntimeError):  # the session was closed: there is no one to report to
            scope.start(_report_end(session, job), name=f"report {job.id}")

    return ShellJobs(shell, scope, on_end=ended)


def extended_bash(
    settings: Settings,
    shell: LocalShell,
    files: LocalFiles,
    environment: Environment,
    jobs: ShellJobs | None,
    session: ToolSupport,
) -> Callable[[], AgentTool] | None:
    """Return a factory of the extended tool; ``None`` for the plain one, which is the default."""
    if jobs is None:
        return None
    # Lazy: few users turn it on.
    from pi.base.processes.terminal import has_terminals
    from pi.coding.tools.bash_extended import BashEnvironment, ExtendedOptions, extended_bash_tool

    values = settings.section(("bash",), BashValues)
    around = BashEnvironment(
        shell=shell,
        files=files,
        jobs=jobs,
        tools=session.tools,
        variables=lambda: {**automation_environment(environment.values), **session.variables()},
        terminal_opened=session.terminal_opened,
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


async def _report_end(session: ToolSupport, job: Job) -> None:
    await session.job_ended(job)
