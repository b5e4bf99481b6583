"""Dispatches the hooks and events of a run to extensions, and converts prompt options."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnStart,
)
from pi.agent.policy import Boundary, Next, Policy, Request, ToolRefused
from pi.agent.tools.tool import ToolResult
from pi.ai.messages import AssistantMessage, SystemMessage, ToolCall, ToolResultMessage
from pi.ai.transcript import final_tools
from pi.base.clock import Clock
from pi.base.records import replace
from pi.coding.bus import Event
from pi.coding.extension_host.events.answers import BLOCKED
from pi.coding.extension_host.events.handlers import Hooks
from pi.coding.extension_host.events.run import (
    AgentBeforeSettleEvent,
    AgentEndEvent,
    AgentSettledEvent,
    AgentStartEvent,
    BeforeAgentStartEvent,
    BoundaryContext,
    ContextEvent,
    ContextWithSystemEvent,
    MessageEndEvent,
    MessageStartEvent,
    ToolCallEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
    ToolResultEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from pi.coding.extension_host.events.updates import Updates
from pi.coding.port.session import SessionPort
from pi.coding.prompt import PromptParts, SystemPromptOptions, ToolNote, tagged
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import MessageEntry
from pi.coding.session.log import SessionLog


class ExtensionPolicy(Policy):
    """Calls handlers at the hooks of a run; does nothing for events without handlers."""

    def __init__(self, hooks: Hooks, session: Callable[[], SessionPort]) -> None:
        self._hooks = hooks
        self._session = session
        self.turn_index = 0
        self.forced_prompt: str | None = None
        """Replaces the system prompt in the requests of this run."""
        self.answer_asked = False
        """Whether handlers already got ``message_end`` of the current answer."""

    async def before_request(self, request: Request) -> Request:
        """``context`` and ``context_with_system``."""
        if self._hooks.has_subscribers(ContextEvent):
            request = await self._without_instructions(request)
        if self._hooks.has_subscribers(ContextWithSystemEvent):
            given = ContextWithSystemEvent(messages=tuple(request.messages))
            asked = await self._hooks.query(given)
            if asked is not given:
                request = replace(request, messages=asked.messages)
        if self.forced_prompt is not None:
            request = _instructed(request, self.forced_prompt)
        return request

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """``message_end`` of an answer."""
        self.answer_asked = True
        if not self._hooks.has_subscribers(MessageEndEvent):
            return answer
        asked = await self._hooks.query(MessageEndEvent(message=answer))
        message: AssistantMessage = asked.message
        return message

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """``tool_call``: changed in place, or blocked."""
        if not self._hooks.has_subscribers(ToolCallEvent):
            return call
        arguments = copy.deepcopy(call.arguments)
        asked = await self._hooks.query(
            ToolCallEvent(tool_name=call.name, tool_call_id=call.id, input=arguments)
        )
        if asked.blocked is not None:
            raise ToolRefused(asked.blocked.reason or BLOCKED, terminate=asked.blocked.terminate)
        return call if asked.input == call.arguments else replace(call, arguments=asked.input)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """``tool_result``: each handler sees the result of the previous one."""
        if not self._hooks.has_subscribers(ToolResultEvent):
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
        asked = await self._hooks.query(given)
        return replace(
            result,
            content=asked.content,
            details=asked.details,
            is_error=asked.is_error,
            usage=asked.usage,
        )

    async def at_boundary(self, at: Boundary) -> Next:
        """``turn_end`` and ``agent_before_settle``."""
        if at.kind == "turn" and self._hooks.has_subscribers(TurnEndEvent):
            return _merged(at.next, await self._hooks.query(self._turn_end(at)))
        if at.kind == "settle" and self._hooks.has_subscribers(AgentBeforeSettleEvent):
            question = AgentBeforeSettleEvent(outcome=at.outcome, context=self._context())
            return _merged(at.next, await self._hooks.query(question))
        return at.next

    def _turn_end(self, at: Boundary) -> TurnEndEvent:
        ids = _latest_ids(self._session().entries.log, 1 + len(at.results))
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
            entries=lambda: tuple(session.entries.log.branch()),
            messages=session.facts.messages,
            convert=convert_to_llm,
            pending=lambda: session.prompts.pending,
        )

    async def _without_instructions(self, request: Request) -> Request:
        said = [each for each in request.messages if isinstance(each, SystemMessage)]
        rest = tuple(each for each in request.messages if not isinstance(each, SystemMessage))
        given = ContextEvent(messages=rest)
        asked = await self._hooks.query(given)
        if asked is given:
            return request
        return replace(request, messages=(*said, *asked.messages))


def _merged(decision: Next, asked: TurnEndEvent | AgentBeforeSettleEvent) -> Next:
    """Merge the answers of handlers into the decision so far."""
    entries = decision.entries + asked.entries
    if asked.continue_ and decision.action == "go_on":
        return replace(decision, action="again", entries=entries)
    return replace(decision, entries=entries)


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
    """The ids of the last answer and of its results, in order."""
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


class Listening:
    """Dispatches the events of the agent to extensions."""

    def __init__(
        self, hooks: Hooks, policy: ExtensionPolicy, updates: Updates, clock: Clock
    ) -> None:
        self._hooks = hooks
        self._policy = policy
        self._updates = updates
        self._clock = clock
        self._finished: Any = None
        """The message that handlers already got before it was stored."""

    async def finish(self, message: Any) -> Any:
        """Emit ``message_start`` and ``message_end`` of a whole message.

        Returns the message to store.

        Without a handler of ``message_end``, both follow with the events of the agent.
        """
        if not self._hooks.has_subscribers(MessageEndEvent):
            return message
        await self._hooks.emit(MessageStartEvent(message=message))
        self._finished = (await self._hooks.query(MessageEndEvent(message=message))).message
        return self._finished

    async def handle_event(self, event: Any) -> None:
        """Dispatch one event of the agent, except tokens."""
        match event:
            case AgentStart():
                self._policy.turn_index = -1
            case TurnStart():
                self._policy.turn_index += 1
            case MessageEnd(message=AssistantMessage()):
                await self._updates.flushed()
                asked, self._policy.answer_asked = self._policy.answer_asked, False
                if asked:
                    return  # handlers got it before it was stored
            case MessageStart(message=message) if message is self._finished:
                return
            case MessageEnd(message=message) if message is self._finished:
                self._finished = None
                return
            case AgentSettled():
                self._policy.forced_prompt = None
            case _:
                pass
        made = _MAKERS.get(type(event))
        if made is not None and self._hooks.has_subscribers(made[0]):
            await self._hooks.emit(made[1](event, self))

    def handle_token(self, event: MessageUpdate) -> None:
        """Dispatch one token."""
        self._updates.put(event.assistant_message_event)

    def turn_start(self) -> TurnStartEvent:
        """The event of a turn that begins now."""
        return TurnStartEvent(turn_index=self._policy.turn_index, timestamp=self._clock.now_ms())


_MAKERS: dict[type, tuple[type[Event], Callable[[Any, Listening], Event]]] = {
    AgentStart: (AgentStartEvent, lambda event, _: AgentStartEvent()),
    AgentEnd: (AgentEndEvent, lambda event, _: AgentEndEvent(messages=event.messages)),
    AgentSettled: (AgentSettledEvent, lambda event, _: AgentSettledEvent()),
    TurnStart: (TurnStartEvent, lambda event, listening: listening.turn_start()),
    MessageStart: (MessageStartEvent, lambda event, _: MessageStartEvent(message=event.message)),
    MessageEnd: (MessageEndEvent, lambda event, _: MessageEndEvent(message=event.message)),
    ToolExecutionStart: (
        ToolExecutionStartEvent,
        lambda event, _: ToolExecutionStartEvent(
            tool_call_id=event.tool_call_id, tool_name=event.tool_name, args=event.args
        ),
    ),
    ToolExecutionUpdate: (
        ToolExecutionUpdateEvent,
        lambda event, _: ToolExecutionUpdateEvent(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            args=event.args,
            partial_result=event.partial_result,
        ),
    ),
    ToolExecutionEnd: (
        ToolExecutionEndEvent,
        lambda event, _: ToolExecutionEndEvent(
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            result=event.result,
            is_error=event.is_error,
        ),
    ),
}
"""Builds the event of extensions from each event of the agent."""


def options_from(parts: PromptParts) -> SystemPromptOptions:
    """The options that extensions get; they exclude the sections of extensions."""
    return SystemPromptOptions(
        cwd=parts.cwd,
        selected_tools=[tool.name for tool in parts.tools],
        tool_snippets={tool.name: tool.snippet for tool in parts.tools if tool.snippet},
        tool_guidelines={tool.name: list(tool.guidelines) for tool in parts.tools},
        prompt_guidelines=list(parts.guidelines),
        custom_prompt=parts.files.system or None,
        append_system_prompt=parts.files.append,
        context_files=list(parts.context),
        skills=list(parts.skills),
    )


def with_options(parts: PromptParts, options: SystemPromptOptions) -> PromptParts:
    """``parts`` with the changes of extensions."""
    tools = tuple(
        ToolNote(
            name=name,
            snippet=options.tool_snippets.get(name, ""),
            guidelines=tuple(options.tool_guidelines.get(name, ())),
        )
        for name in options.selected_tools
    )
    added = {name: tagged(name, text) for name, text in options.sections.items() if text}
    return replace(
        parts,
        tools=tools,
        guidelines=tuple(options.prompt_guidelines),
        files=replace(
            parts.files,
            system=options.custom_prompt or "",
            append=options.append_system_prompt,
        ),
        context=tuple(options.context_files),
        skills=tuple(options.skills),
        extra={**parts.extra, **added},
    )


def forced_prompt(asked: BeforeAgentStartEvent, prompt: str) -> str | None:
    """The replacement of ``prompt``, which was built from the options; ``None`` if there is none.

    An answer that contains the prompt which handlers got only adds to it: changes of other handlers
    to the options are kept.
    """
    forced = asked.replacement
    if forced is None:
        forced = asked.system_prompt_options.force_system_prompt
    if forced is None or not asked.system_prompt:
        return forced
    return forced.replace(asked.system_prompt, prompt, 1)
