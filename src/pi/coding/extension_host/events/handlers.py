"""Event names, and calling the handlers of extensions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pi.agent.policy import Interrupt, StopRun, ToolRefused
from pi.base.fuzzy import nearest
from pi.coding.bus import RANKS, At, Event, OrderedList, Owner, Query, Rank
from pi.coding.extension_host.errors import ExtensionError, contained
from pi.coding.extension_host.events import run, session
from pi.coding.extension_host.events.answers import as_answer
from pi.coding.extension_host.watchdog import Watchdog

log = logging.getLogger(__name__)


EVENTS: dict[str, type] = {
    "project_trust": session.ProjectTrustEvent,
    "resources_discover": session.ResourcesDiscoverEvent,
    "session_start": session.SessionStartEvent,
    "session_shutdown": session.SessionShutdownEvent,
    "session_info_changed": session.SessionInfoChangedEvent,
    "session_before_switch": session.SessionBeforeSwitchEvent,
    "session_switch": session.SessionSwitchEvent,
    "session_before_fork": session.SessionBeforeForkEvent,
    "session_fork": session.SessionForkEvent,
    "session_before_compact": session.SessionBeforeCompactEvent,
    "session_compacting": session.SessionCompactingEvent,
    "session_compact": session.SessionCompactEvent,
    "session_compact_failed": session.SessionCompactFailedEvent,
    "session_before_tree": session.SessionBeforeTreeEvent,
    "session_tree": session.SessionTreeEvent,
    "user_bash": session.UserBashEvent,
    "ui_prompt_start": session.UiPromptStartEvent,
    "ui_prompt_end": session.UiPromptEndEvent,
    "cache_warming_decision": session.CacheWarmingDecisionEvent,
    "input": run.InputEvent,
    "before_agent_start": run.BeforeAgentStartEvent,
    "agent_start": run.AgentStartEvent,
    "agent_end": run.AgentEndEvent,
    "agent_before_settle": run.AgentBeforeSettleEvent,
    "agent_settled": run.AgentSettledEvent,
    "turn_start": run.TurnStartEvent,
    "turn_end": run.TurnEndEvent,
    "context": run.ContextEvent,
    "context_with_system": run.ContextWithSystemEvent,
    "before_provider_headers": run.BeforeProviderHeadersEvent,
    "before_provider_request": run.BeforeProviderRequestEvent,
    "after_provider_response": run.AfterProviderResponseEvent,
    "message_start": run.MessageStartEvent,
    "message_update": run.MessageUpdateEvent,
    "message_end": run.MessageEndEvent,
    "tool_execution_start": run.ToolExecutionStartEvent,
    "tool_execution_update": run.ToolExecutionUpdateEvent,
    "tool_execution_end": run.ToolExecutionEndEvent,
    "tool_call": run.ToolCallEvent,
    "tool_result": run.ToolResultEvent,
    "model_select": run.ModelSelectEvent,
    "thinking_level_select": run.ThinkingLevelSelectEvent,
}

ALIASES = {"session_branch": "session_fork", "session.compacting": "session_compacting"}
"""Other names of the same events."""

NAMES: dict[type, str] = {kind: name for name, kind in EVENTS.items()}
"""The name of each event type."""


Q = TypeVar("Q", bound=Query)

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any] | Any]
"""Gets an event and a context; sync or async."""

ReportHandlerFailure: TypeAlias = Callable[[Owner, str, BaseException], None]
"""Gets the owner of a failed handler, the event name, and the exception."""

DECISIONS = (StopRun, Interrupt, ToolRefused)
"""Exceptions that a handler raises on purpose to control the run."""


class Hook(NamedTuple):
    """A handler with its context and owner."""

    call: Handler
    context: object
    owner: Owner


class Hooks:
    """The handlers of all extensions, by event.

    Handlers are called in order and within a time limit. A handler that fails is reported and does
    not affect the others.
    """

    def __init__(self, watchdog: Watchdog, failed: ReportHandlerFailure) -> None:
        self._watchdog = watchdog
        self._failed = failed
        self._rows: dict[type, OrderedList[Hook]] = {}

    def subscribe(
        self, name: str, handler: Handler, context: object, owner: Owner, at: At = "normal"
    ) -> Callable[[], None]:
        """Subscribe ``handler`` to an event. Returns an unsubscribe function."""
        kind = EVENTS.get(ALIASES.get(name, name))
        if kind is None:
            like = nearest(name, EVENTS)
            hint = f"Did you mean {like}?" if like else "Use pi.events for custom events."
            raise ExtensionError(f"Unknown event {name!r}.", hint=hint)
        require_parameters(handler, 2, f"A handler of {name} takes an event and a context")
        return self._rows.setdefault(kind, OrderedList()).add(
            Hook(handler, context, owner), owner, at
        )

    def has_subscribers(self, kind: type) -> bool:
        """Whether there is a handler. Without one the event need not be built."""
        return bool(self._rows.get(kind))

    def hooks(self, kind: type) -> tuple[Hook, ...]:
        """The handlers of one event type, in order."""
        rows = self._rows.get(kind)
        return rows.values if rows else ()

    async def emit(self, event: Event) -> None:
        """Dispatch ``event`` to all handlers and wait for them."""
        for hook in self.hooks(type(event)):
            try:
                await self.call(hook, event)
            except DECISIONS:
                raise
            except Exception as error:
                self._failed(hook.owner, NAMES[type(event)], error)

    async def query(self, question: Q, *, ranks: Collection[Rank] = RANKS) -> Q:
        """Return ``question`` with the answers of all handlers, until it is settled.

        Only extensions of ``ranks`` are called.
        """
        expected = getattr(question, "answer", None)
        for hook in self.hooks(type(question)):
            if hook.owner.rank not in ranks:
                continue
            try:
                answer = await self.call(hook, question)
                if answer is not None:
                    given = answer if expected is None else as_answer(expected, answer)
                    question = question.with_answer(given)
            except DECISIONS:
                raise
            except Exception as error:
                question = self._after_failure(question, hook, error)
            if question.is_settled:
                break
        return question

    def _after_failure(self, question: Q, hook: Hook, error: Exception) -> Q:
        """``question`` after a failed handler; reported, unless the question records it itself."""
        after = question.after_failure(error)
        if after is question:
            self._failed(hook.owner, NAMES[type(question)], error)
        else:
            log.warning("%s failed", hook.owner.path, exc_info=error)
        return after

    async def call(self, hook: Hook, event: object) -> Any:
        """Call one handler. Raises ``HandlerTimeout`` if it takes too long."""
        return await contained(partial(hook.call, event, hook.context), self._watchdog.watch)

    def failed(self, hook: Hook, event: object, error: BaseException) -> None:
        """Report a failure of a handler that was called with ``call``."""
        self._failed(hook.owner, NAMES[type(event)], error)


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
