"""Every event by the name that extensions use."""

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
"""The name of each kind of event."""


# Telling and asking handlers: in order, within their time, and however one of them fails.


Q = TypeVar("Q", bound=Query)

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any] | Any]
"""Gets an event and a context; sync or async."""

ReportHandlerFailure: TypeAlias = Callable[[Owner, str, BaseException], None]
"""Told whose handler failed, at what event, and why."""

DECISIONS = (StopRun, Interrupt, ToolRefused)
"""What a handler raises on purpose, for the run that it is in."""


class Hook(NamedTuple):
    """One handler, with what it is called with."""

    call: Handler
    context: object
    owner: Owner


class Hooks:
    """The handlers of all extensions, by event."""

    def __init__(self, watchdog: Watchdog, failed: ReportHandlerFailure) -> None:
        self._watchdog = watchdog
        self._failed = failed
        self._rows: dict[type, OrderedList[Hook]] = {}

    def on(
        self, name: str, handler: Handler, context: object, owner: Owner, at: At = "normal"
    ) -> Callable[[], None]:
        """Have ``handler`` called at every event of that name; gives what ends that."""
        kind = EVENTS.get(ALIASES.get(name, name))
        if kind is None:
            like = nearest(name, EVENTS)
            hint = f"Did you mean {like}?" if like else "pi.events carries events of your own."
            raise ExtensionError(f"There is no event called {name!r}.", hint=hint)
        must_take(handler, 2, f"A handler of {name} takes an event and a context")
        return self._rows.setdefault(kind, OrderedList()).add(
            Hook(handler, context, owner), owner, at
        )

    def heard(self, kind: type) -> bool:
        """Whether anybody listens, so that nobody builds an event for nothing."""
        return bool(self._rows.get(kind))

    def hooks(self, kind: type) -> tuple[Hook, ...]:
        """The handlers of one kind of event, in order."""
        rows = self._rows.get(kind)
        return rows.values if rows else ()

    async def tell(self, event: Event) -> None:
        """Until everybody has heard ``event``."""
        for hook in self.hooks(type(event)):
            try:
                await self.call(hook, event)
            except DECISIONS:
                raise
            except Exception as problem:
                self._failed(hook.owner, NAMES[type(event)], problem)

    async def ask(self, question: Q, *, ranks: Collection[Rank] = RANKS) -> Q:
        """``question`` with the answers of all handlers, until it is settled.

        Only extensions of ``ranks`` are asked.
        """
        wanted = getattr(question, "answer", None)
        for hook in self.hooks(type(question)):
            if hook.owner.rank not in ranks:
                continue
            try:
                answer = await self.call(hook, question)
                if answer is not None:
                    given = answer if wanted is None else as_answer(wanted, answer)
                    question = question.with_answer(given)
            except DECISIONS:
                raise
            except Exception as problem:
                question = self._after_failure(question, hook, problem)
            if question.is_settled:
                break
        return question

    def _after_failure(self, question: Q, hook: Hook, problem: Exception) -> Q:
        """``question`` after a handler failed: reported, unless the question itself tells it."""
        after = question.after_failure(problem)
        if after is question:
            self._failed(hook.owner, NAMES[type(question)], problem)
        else:
            log.warning("%s failed", hook.owner.path, exc_info=problem)
        return after

    async def call(self, hook: Hook, event: object) -> Any:
        """The answer of a handler; ``HandlerTimeout`` if it takes too long."""
        return await contained(partial(hook.call, event, hook.context), self._watchdog.watch)

    def failed(self, hook: Hook, event: object, problem: BaseException) -> None:
        """Report a failure of a handler that was called one by one."""
        self._failed(hook.owner, NAMES[type(event)], problem)


def must_take(function: Callable[..., Any], count: int, rule: str) -> None:
    """Refuse a function that cannot be called with that many arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        signature.bind(*range(count))
    except TypeError as problem:
        name = getattr(function, "__name__", repr(function))
        raise ExtensionError(f"{rule}; {name}{signature} does not.") from problem
