"""Tools of extensions follow the session and its events."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from pi.agent.tools.tool import AgentTool, ToolContext
from pi.base.records import Record, replace
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import EventBus, Owner
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.events.handlers import ReportHandlerFailure, require_parameters
from pi.coding.extension_host.events.session import (
    ExtensionEvent,
    SessionForkEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
)
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.retry import AutoRetryEnd, AutoRetryStart

ToolSessionReason: TypeAlias = Literal[
    "start",
    "switch",
    "branch",
    "tree",
    "shutdown",
    "auto_compaction_start",
    "auto_compaction_end",
    "auto_retry_start",
    "auto_retry_end",
    "ttsr_triggered",
    "todo_reminder",
]


class ToolSessionEvent(Record):
    """A change of the session, for ``on_session`` of a tool."""

    reason: ToolSessionReason
    previous_session_file: str | None = None
    """Of ``start``, ``switch`` and ``branch``: the file of the previous session."""
    event: Any = None
    """The underlying event of pi."""


_REASONS: Final[dict[type, ToolSessionReason]] = {
    SessionStartEvent: "start",
    SessionSwitchEvent: "switch",
    SessionForkEvent: "branch",
    SessionTreeEvent: "tree",
    SessionShutdownEvent: "shutdown",
    CompactionStart: "auto_compaction_start",
    CompactionEnd: "auto_compaction_end",
    AutoRetryStart: "auto_retry_start",
    AutoRetryEnd: "auto_retry_end",
}
_PUBLISHED: Final[dict[str, ToolSessionReason]] = {
    "ttsr_triggered": "ttsr_triggered",
    "todo_reminder": "todo_reminder",
}
"""Events that other extensions publish under these names."""


def session_event(event: Any) -> ToolSessionEvent | None:
    """The event for tools; ``None`` if tools do not get it, such as a manual compaction."""
    if isinstance(event, ExtensionEvent):
        reason = _PUBLISHED.get(event.name)
    elif isinstance(event, CompactionStart | CompactionEnd) and event.reason == "manual":
        reason = None
    else:
        reason = _REASONS.get(type(event))
    if reason is None:
        return None
    previous = getattr(event, "previous_session_file", None)
    return ToolSessionEvent(reason=reason, previous_session_file=previous, event=event)


def in_session(tool: AgentTool, context: Callable[[], Any]) -> AgentTool:
    """``tool`` with the context of its extension as ``ctx.session``."""
    run = tool.run

    async def run_in_session(params: Any, ctx: ToolContext) -> Any:
        return await run(params, replace(ctx, session=context()))

    return replace(tool, run=run_in_session)


def follow_session(
    tool: AgentTool,
    context: Callable[[], Any],
    owner: Owner,
    *,
    bus: EventBus,
    watchdog: Watchdog,
    failed: ReportHandlerFailure,
) -> Callable[[], None]:
    """Call ``on_session`` of a tool when the session changes. Returns an unsubscribe function.

    A failure is reported and does not affect the session.
    """
    react = tool.on_session
    if react is None:
        return lambda: None
    require_parameters(react, 2, f"on_session of {tool.name} takes an event and a context")

    async def handle(event: Any) -> None:
        tool_event = session_event(event)
        if tool_event is None:
            return
        try:
            await contained(partial(react, tool_event, context()), watchdog.watch)
        except propagated_exceptions():
            raise
        except BaseException as error:
            failed(owner, f"on_session of {tool.name}", error)

    ends = [bus.subscribe(kind, handle, owner=owner) for kind in (*_REASONS, ExtensionEvent)]

    def end() -> None:
        for unsubscribe in ends:
            unsubscribe()

    return end
