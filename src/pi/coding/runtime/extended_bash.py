"""The bash tool with ``bash.extended``, as the settings want it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pi.agent.tool import AgentTool
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.coding.files.local import LocalFiles
from pi.coding.runtime.dotenv import Environment
from pi.coding.runtime.for_session import ForSession
from pi.coding.settings.settings import Settings
from pi.coding.shell.environment import automated
from pi.coding.shell.local import LocalShell


class BashValues(Record):
    """``bash`` of the settings."""

    extended: bool = False
    """Whether the model may say more than a command and a timeout."""
    strip_trailing_head_tail: bool = True


class InterceptorValues(Record):
    """``bashInterceptor`` of the settings."""

    enabled: bool = False


class AsyncValues(Record):
    """``async`` of the settings."""

    enabled: bool = False


def extended_bash(
    settings: Settings,
    shell: LocalShell,
    files: LocalFiles,
    environment: Environment,
    scope: TaskScope,
    session: ForSession,
) -> Callable[[], AgentTool] | None:
    """What makes the extended tool; ``None`` when the plain one is wanted, as it usually is."""
    values = settings.section(("bash",), BashValues)
    if not values.extended:
        return None
    # Here, not above: few people use it.
    from pi.coding.shell.jobs import ShellJobs
    from pi.coding.tools.bash_extended import (
        ExtendedOptions,
        Surroundings,
        extended_bash_tool,
    )

    around = Surroundings(
        shell=shell,
        files=files,
        jobs=ShellJobs(shell, scope, on_end=lambda job: None),
        tools=session.tools,
        variables=lambda: {**automated(environment.values), **session.variables()},
    )
    options = ExtendedOptions(
        strip_trailing_head_tail=values.strip_trailing_head_tail,
        intercept=settings.section(("bashInterceptor",), InterceptorValues).enabled,
        jobs=settings.section(("async",), AsyncValues).enabled,
    )
    return partial(extended_bash_tool, around, options)
