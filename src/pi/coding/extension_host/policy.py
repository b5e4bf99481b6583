"""The host as a policy: what happens in a run, told and asked of extensions."""

from __future__ import annotations

import copy
from collections.abc import Callable

from pi.agent.policy import Boundary, Next, Policy, Request, ToolRefused
from pi.agent.tool import ToolResult
from pi.ai.messages import AssistantMessage, SystemMessage, ToolCall, ToolResultMessage
from pi.ai.transcript import final_tools
from pi.base.records import UNSET, replace
from pi.coding.extension_host.answers import BLOCKED
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.run_events import (
    AgentBeforeSettleEvent,
    BoundaryContext,
    ContextEvent,
    ContextWithSystemEvent,
    MessageEndEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEndEvent,
)
from pi.coding.session.entries import MessageEntry
from pi.coding.session.log import SessionLog


class HostPolicy(Policy):
    """Asks handlers at the hooks of a run; costs nothing where nobody listens."""

    def __init__(self, hooks: Hooks, session: Callable[[], HostedSession]) -> None:
        self._hooks = hooks
        self._session = session
        self.turn_index = 0
        self.forced_prompt: str | None = None
        """In place of the system prompt, in the requests of this run."""
        self.answer_asked = False
        """Whether handlers have seen the end of the answer that is about to be told."""

    async def before_request(self, request: Request) -> Request:
        """``context`` and ``context_with_system``."""
        if self._hooks.heard(ContextEvent):
            request = await self._without_instructions(request)
        if self._hooks.heard(ContextWithSystemEvent):
            given = ContextWithSystemEvent(messages=tuple(request.messages))
            asked = await self._hooks.ask(given)
            if asked is not given:
                request = replace(request, messages=asked.messages)
        if self.forced_prompt is not None:
            request = _instructed(request, self.forced_prompt)
        return request

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """``message_end`` of an answer."""
        self.answer_asked = True
        if not self._hooks.heard(MessageEndEvent):
            return answer
        asked = await self._hooks.ask(MessageEndEvent(message=answer))
        message: AssistantMessage = asked.message
        return message

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """``tool_call``: changed in place, or blocked."""
        if not self._hooks.heard(ToolCallEvent):
            return call
        arguments = copy.deepcopy(call.arguments)
        asked = await self._hooks.ask(
            ToolCallEvent(tool_name=call.name, tool_call_id=call.id, input=arguments)
        )
        if asked.blocked is not None:
            raise ToolRefused(asked.blocked.reason or BLOCKED, terminate=asked.blocked.terminate)
        return call if asked.input == call.arguments else replace(call, arguments=asked.input)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """``tool_result``: handlers change it one after another."""
        if not self._hooks.heard(ToolResultEvent):
            return result
        given = ToolResultEvent(
            tool_name=call.name,
            tool_call_id=call.id,
            input=call.arguments,
            content=result.content,
            details=result.details,
            is_error=result.is_error,
            usage=result.usage,
        )
        asked = await self._hooks.ask(given)
        return replace(
            result,
            content=asked.content,
            details=asked.details,
            is_error=asked.is_error,
            usage=asked.usage,
        )

    async def at_boundary(self, at: Boundary) -> Next:
        """``turn_end`` and ``agent_before_settle``."""
        if at.kind == "turn" and self._hooks.heard(TurnEndEvent):
            return _merged(at.next, await self._hooks.ask(self._turn_end(at)))
        if at.kind == "settle" and self._hooks.heard(AgentBeforeSettleEvent):
            question = AgentBeforeSettleEvent(outcome=at.outcome, context=self._context())
            return _merged(at.next, await self._hooks.ask(question))
        return at.next

    def _turn_end(self, at: Boundary) -> TurnEndEvent:
        ids = _latest_ids(self._session().talk.log, 1 + len(at.results))
        return TurnEndEvent(
            turn_index=self.turn_index,
            message=at.answer,
            tool_results=at.results,
            message_entry_id=ids[0] if ids else None,
            tool_result_entry_ids=tuple(ids[1:]),
            outcome=at.outcome,
            continue_=at.next.action == "again",
            context=self._context(),
        )

    def _context(self) -> BoundaryContext:
        session = self._session()
        return BoundaryContext(
            entries=lambda: tuple(session.talk.log.branch()),
            messages=session.talk.messages,
            convert=session.talk.convert,
            pending=lambda: session.talk.pending,
        )

    async def _without_instructions(self, request: Request) -> Request:
        said = [each for each in request.messages if isinstance(each, SystemMessage)]
        rest = tuple(each for each in request.messages if not isinstance(each, SystemMessage))
        given = ContextEvent(messages=rest)
        asked = await self._hooks.ask(given)
        if asked is given:
            return request
        return replace(request, messages=(*said, *asked.messages))


def _merged(wanted: Next, asked: TurnEndEvent | AgentBeforeSettleEvent) -> Next:
    """What was wanted already, with what handlers want in addition."""
    entries = wanted.entries + asked.entries
    if asked.continue_ and wanted.action == "go_on":
        return replace(wanted, action="again", entries=entries)
    return replace(wanted, entries=entries)


def _instructed(request: Request, prompt: str) -> Request:
    """``request`` with another prompt and the same tools."""
    said = [each for each in request.messages if isinstance(each, SystemMessage)]
    rest = [each for each in request.messages if not isinstance(each, SystemMessage)]
    leading = SystemMessage(
        content=prompt,
        tools_added=final_tools(said) or UNSET,
        timestamp=said[0].timestamp if said else 0,
    )
    return replace(request, messages=(leading, *rest))


def _latest_ids(log: SessionLog, count: int) -> list[str]:
    """The ids of the last answer and of its results, in their order."""
    found: list[str] = []
    for place in log.tree.upwards(log.leaf):
        if len(found) == count:
            break
        if log.tree.outlines[place].type == "message":
            entry = log.at(place)
            if isinstance(entry, MessageEntry) and isinstance(
                entry.message, AssistantMessage | ToolResultMessage
            ):
                found.append(entry.id)
    return found[::-1]
