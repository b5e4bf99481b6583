"""Event names, and the subscription of extension handlers to the bus."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from pi.agent import events as agent
from pi.agent.policy import Interrupt, StopRun, ToolRefused
from pi.base.fuzzy import nearest
from pi.base.records import Record
from pi.coding.bus import At, EventBus, Owner
from pi.coding.compaction import events as compaction
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events import dialogs, queries, run, session
from pi.coding.extension_host.events.answers import as_answer
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.trust import ProjectTrustEvent

EVENTS: dict[str, type] = {
    "project_trust": ProjectTrustEvent,
    "resources_discover": session.ResourcesDiscoverEvent,
    "session_start": session.SessionStartEvent,
    "session_shutdown": session.SessionShutdownEvent,
    "session_abort": session.SessionAbortEvent,
    "session_info_changed": session.SessionInfoChangedEvent,
    "session_before_switch": queries.SessionBeforeSwitchEvent,
    "session_switch": session.SessionSwitchEvent,
    "session_before_fork": queries.SessionBeforeForkEvent,
    "session_fork": session.SessionForkEvent,
    "context_full": compaction.ContextFullEvent,
    "session_before_compact": compaction.SessionBeforeCompactEvent,
    "session_compacting": compaction.SessionCompactingEvent,
    "session_compact": compaction.SessionCompactEvent,
    "session_compact_failed": compaction.SessionCompactFailedEvent,
    "session_before_tree": queries.SessionBeforeTreeEvent,
    "session_tree": session.SessionTreeEvent,
    "user_bash": queries.UserBashEvent,
    "user_command_start": queries.UserCommandStartEvent,
    "user_command_end": queries.UserCommandEndEvent,
    "terminal_opened": dialogs.TerminalOpenedEvent,
    "ui_prompt_start": dialogs.UiPromptStartEvent,
    "ui_prompt_end": dialogs.UiPromptEndEvent,
    "cache_warming_decision": queries.CacheWarmingDecisionEvent,
    "input": session.InputEvent,
    "before_agent_start": run.BeforeAgentStartEvent,
    "agent_start": agent.AgentStart,
    "agent_end": agent.AgentEnd,
    "agent_before_settle": run.AgentBeforeSettleEvent,
    "agent_settled": agent.AgentSettled,
    "turn_start": run.TurnStartEvent,
    "turn_end": run.TurnEndEvent,
    "context": run.ContextEvent,
    "context_with_system": run.ContextWithSystemEvent,
    "before_provider_headers": run.BeforeProviderHeadersEvent,
    "before_provider_request": run.BeforeProviderRequestEvent,
    "after_provider_response": run.AfterProviderResponseEvent,
    "message_start": agent.MessageStart,
    "message_update": run.MessageUpdateEvent,
    "message_end": run.MessageEndEvent,
    "tool_execution_start": agent.ToolExecutionStart,
    "tool_execution_update": agent.ToolExecutionUpdate,
    "tool_execution_end": agent.ToolExecutionEnd,
    "tool_call": run.ToolCallEvent,
    "tool_result": run.ToolResultEvent,
    "model_select": session.ModelSelectEvent,
    "thinking_level_select": session.ThinkingLevelSelectEvent,
}

ALIASES = {"session_branch": "session_fork", "session.compacting": "session_compacting"}
"""Other names of the same events."""

NAMES: dict[type, str] = {kind: name for name, kind in EVENTS.items()}
"""The name of each event type."""


Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any] | Any]
"""Gets an event and a context; sync or async."""

ReportHandlerFailure: TypeAlias = Callable[[Owner, str, BaseException], None]
"""Gets the owner of a failed handler, the event name, and the exception."""

DECISIONS = (StopRun, Interrupt, ToolRefused)
"""Exceptions by which a handler controls the run; they are not failures."""


class HandlerCall:
    """Subscribes a handler of an extension to the bus: adds its context and the time limit."""

    __slots__ = ("_answer", "_watchdog", "context", "handler")

    def __init__(self, handler: Handler, context: object, watchdog: Watchdog, kind: type) -> None:
        self.handler = handler
        self.context = context
        self._watchdog = watchdog
        self._answer: type[Record] | None = getattr(kind, "answer", None)

    async def __call__(self, event: object) -> Any:
        """Call the handler. Raises ``HandlerTimeout`` if it takes too long."""
        answer = await contained(partial(self.handler, event, self.context), self._watchdog.watch)
        if answer is None or self._answer is None:
            return answer
        return as_answer(self._answer, answer)


def event_type(name: str) -> type:
    """Return the type of an event. Raises ``ExtensionError`` if there is no such event."""
    kind = EVENTS.get(ALIASES.get(name, name))
    if kind is None:
        like = nearest(name, EVENTS)
        hint = f"Did you mean {like}?" if like else "Use pi.events for custom events."
        raise ExtensionError(f"Unknown event {name!r}.", hint=hint)
    return kind


def subscribe_handler(
    bus: EventBus,
    watchdog: Watchdog,
    name: str,
    handler: Handler,
    context: object,
    owner: Owner,
    at: At = "normal",
) -> Callable[[], None]:
    """Subscribe a handler of an extension to an event. Returns an unsubscribe function."""
    kind = event_type(name)
    require_parameters(handler, 2, f"A handler of {name} takes an event and a context")
    return bus.subscribe(kind, HandlerCall(handler, context, watchdog, kind), owner=owner, at=at)


def require_parameters(function: Callable[..., Any], count: int, rule: str) -> None:
    """Raise ``ExtensionError`` if a function cannot be called with that many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        name = getattr(function, "__name__", repr(function))
        raise ExtensionError(f"{rule}; {name}{signature} does not.") from error
