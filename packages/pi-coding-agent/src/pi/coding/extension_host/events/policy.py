"""Dispatches the hooks and events of a run to extensions, and converts prompt options."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from msgspec import UNSET

from pi.agent.agent import Agent
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
from pi.agent.queues import message_text
from pi.agent.tools.tool import ToolResult
from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.transcript import final_tools
from pi.base.clock import Clock
from pi.base.records import replace
from pi.coding.bus import EventBus
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.extension_host.events.answers import BLOCKED, as_custom_message
from pi.coding.extension_host.events.handlers import DECISIONS
from pi.coding.extension_host.events.run import (
    AgentBeforeSettleEvent,
    BeforeAgentStartEvent,
    BoundaryContext,
    ContextEvent,
    ContextWithSystemEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from pi.coding.extension_host.events.session import (
    ExtensionEvent,
    SessionInfoChanged,
    SessionInfoChangedEvent,
)
from pi.coding.extension_host.events.updates import Updates
from pi.coding.port.session import SessionPort
from pi.coding.prompt import PromptParts, SystemPromptOptions, ToolNote, prompt_sections, tagged
from pi.coding.retry import AutoRetryEnd, AutoRetryStart
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import MessageEntry, SessionMessage
from pi.coding.session.log import SessionLog

calling_agent: ContextVar[str] = ContextVar("sub-agent that calls a tool", default="")
"""Set while the policies of a parent session decide about a call of a nested one."""


class ExtensionPolicy(Policy):
    """Calls handlers at the hooks of a run; does nothing for events without handlers."""

    def __init__(self, bus: EventBus, session: Callable[[], SessionPort]) -> None:
        self._bus = bus
        self._session = session
        self.turn_index = 0
        self.forced_prompt: str | None = None
        """Replaces the system prompt in the requests of this run."""
        self.message_end_sent = False
        """Whether handlers already got ``message_end`` of the current answer."""

    async def before_request(self, request: Request) -> Request:
        """Emit ``context`` and ``context_with_system``; return the changed request."""
        if ContextEvent in self._bus.subscribed:
            request = await self._without_instructions(request)
        if ContextWithSystemEvent in self._bus.subscribed:
            original = ContextWithSystemEvent(messages=tuple(request.messages))
            event = await self._bus.query(original, raises=DECISIONS)
            if event is not original:
                request = replace(request, messages=event.messages)
        if self.forced_prompt is not None:
            request = _with_prompt(request, self.forced_prompt)
        return request

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """Emit ``message_end``; return the answer, or its replacement."""
        self.message_end_sent = True
        if MessageEndEvent not in self._bus.subscribed:
            return answer
        event = await self._bus.query(MessageEndEvent(message=answer), raises=DECISIONS)
        message: AssistantMessage = event.message
        return message

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Emit ``tool_call``; return the call with changed arguments, raise if it is blocked."""
        if ToolCallEvent not in self._bus.subscribed:
            return call
        arguments = copy.deepcopy(call.arguments)
        event = await self._bus.query(
            ToolCallEvent(
                agent=calling_agent.get(),
                tool_name=call.name,
                tool_call_id=call.id,
                input=arguments,
                approval=self._session().tools.approval(call),
            ),
            raises=DECISIONS,
        )
        if event.blocked is not None:
            raise ToolRefused(event.blocked.reason or BLOCKED, terminate=event.blocked.terminate)
        return call if event.input == call.arguments else replace(call, arguments=event.input)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Emit ``tool_result``; each handler gets the result of the previous one."""
        if ToolResultEvent not in self._bus.subscribed:
            return result
        original = ToolResultEvent(
            tool_name=call.name,
            tool_call_id=call.id,
            input=call.arguments,
            content=result.content,
            details=result.details,
            is_error=result.is_error,
            usage=result.usage,
        )
        event = await self._bus.query(original, raises=DECISIONS)
        return replace(
            result,
            content=event.content,
            details=event.details,
            is_error=event.is_error,
            usage=event.usage,
        )

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Emit ``turn_end`` or ``agent_before_settle``; return the merged decision."""
        if boundary.kind == "turn" and TurnEndEvent in self._bus.subscribed:
            event = await self._bus.query(self._turn_end(boundary), raises=DECISIONS)
            return _merge(boundary.next, event)
        if boundary.kind == "settle" and AgentBeforeSettleEvent in self._bus.subscribed:
            question = AgentBeforeSettleEvent(outcome=boundary.outcome, context=self._context())
            return _merge(boundary.next, await self._bus.query(question, raises=DECISIONS))
        return boundary.next

    async def before_agent_start(
        self, message: UserMessage, prompt_parts: Callable[[], PromptParts], *, now_ms: int
    ) -> tuple[PromptParts | None, tuple[SessionMessage, ...]]:
        """Emit ``before_agent_start``; return prompt parts if changed, and the added messages."""
        if BeforeAgentStartEvent not in self._bus.subscribed:
            return None, ()
        parts = prompt_parts()
        options = options_from(parts)
        event = await self._bus.query(
            BeforeAgentStartEvent(
                prompt=message_text(message),
                images=tuple(block for block in message.content if isinstance(block, Image)),
                system_prompt=_prompt(parts),
                system_prompt_options=options,
            )
        )
        messages = tuple(as_custom_message(message, now_ms=now_ms) for message in event.messages)
        changed = with_options(parts, options) if options != options_from(parts) else None
        self.forced_prompt = forced_prompt(event, _prompt(changed or parts))
        return changed, messages

    def _turn_end(self, boundary: Boundary) -> TurnEndEvent:
        ids = _latest_ids(self._session().entries.log, 1 + len(boundary.results))
        return TurnEndEvent(
            turn_index=self.turn_index,
            message=boundary.answer,
            tool_results=boundary.results,
            message_entry_id=ids[0] if ids else None,
            tool_result_entry_ids=tuple(ids[1:]),
            outcome=boundary.outcome,
            continue_=boundary.next.action == "again",
            context=self._context(),
        )

    def _context(self) -> BoundaryContext:
        session = self._session()
        return BoundaryContext(
            entries=lambda: tuple(session.entries.log.branch()),
            messages=session.info.messages,
            convert=convert_to_llm,
            pending=lambda: session.prompts.pending,
        )

    async def _without_instructions(self, request: Request) -> Request:
        instructions = [
            message for message in request.messages if isinstance(message, SystemMessage)
        ]
        rest = tuple(
            message for message in request.messages if not isinstance(message, SystemMessage)
        )
        original = ContextEvent(messages=rest)
        event = await self._bus.query(original, raises=DECISIONS)
        if event is original:
            return request
        return replace(request, messages=(*instructions, *event.messages))


def _merge(decision: Next, event: TurnEndEvent | AgentBeforeSettleEvent) -> Next:
    """Merge the answers of handlers into the decision so far."""
    entries = decision.entries + event.entries
    if event.continue_ and decision.action == "go_on":
        return replace(decision, action="again", entries=entries)
    return replace(decision, entries=entries)


def _prompt(parts: PromptParts) -> str:
    return "\n\n".join(prompt_sections(parts).values())


def _with_prompt(request: Request, prompt: str) -> Request:
    """``request`` with another prompt and the same tools."""
    instructions = [message for message in request.messages if isinstance(message, SystemMessage)]
    rest = [message for message in request.messages if not isinstance(message, SystemMessage)]
    leading = SystemMessage(
        content=prompt,
        tools_added=final_tools(instructions) or UNSET,
        timestamp=instructions[0].timestamp if instructions else 0,
    )
    return replace(request, messages=(leading, *rest))


def _latest_ids(log: SessionLog, count: int) -> list[str]:
    """The ids of the last ``count`` answers and tool results of the branch, oldest first."""
    ids: list[str] = []
    for position in log.tree.upwards(log.leaf):
        if len(ids) == count:
            break
        if log.tree.outlines[position].type == "message":
            entry = log.at(position)
            if isinstance(entry, MessageEntry) and isinstance(
                entry.message, AssistantMessage | ToolResultMessage
            ):
                ids.append(entry.id)
    return ids[::-1]


class AgentEventForwarder:
    """Publishes the events of the agent on the bus of the session, for extensions."""

    CHANGED = (AgentStart, TurnStart, MessageStart, MessageEnd, AgentSettled, SessionInfoChanged)
    """Events that change state here, or that extensions get as another record."""
    UNCHANGED = (AgentEnd, ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd)
    FOR_TOOLS = (CompactionStart, CompactionEnd, AutoRetryStart, AutoRetryEnd, ExtensionEvent)
    """Events for ``on_session`` of tools only; extensions get other events for them."""

    def __init__(
        self, bus: EventBus, policy: ExtensionPolicy, updates: Updates, clock: Clock
    ) -> None:
        self._bus = bus
        self._policy = policy
        self._updates = updates
        self._clock = clock
        self._finished: Any = None
        """The message that handlers already got before it was stored."""
        self._agent: Agent
        self._end_tokens: Callable[[], None] | None = None

    def connect(self, agent: Agent) -> None:
        """Subscribe to the events of an agent."""
        self._agent = agent
        agent.subscribe(self.handle_event, kinds=self.CHANGED)
        agent.subscribe(self._emit, kinds=(*self.UNCHANGED, *self.FOR_TOOLS))
        agent.finish = self.finish

    async def finish(self, message: Any) -> Any:
        """Emit ``message_start`` and ``message_end`` of a complete message; return it to be stored.

        Without a handler of ``message_end``, both are emitted later, with the agent's events.
        """
        if MessageEndEvent not in self._bus.subscribed:
            return message
        await self._bus.emit(MessageStart(message=message), raises=DECISIONS)
        event = await self._bus.query(MessageEndEvent(message=message), raises=DECISIONS)
        self._finished = event.message
        return self._finished

    async def handle_event(self, event: Any) -> None:
        """Publish one of the events ``CHANGED``."""
        match event:
            case AgentStart():
                self._policy.turn_index = -1
                self._follow_tokens(enabled=MessageUpdateEvent in self._bus.subscribed)
            case TurnStart():
                self._policy.turn_index += 1
                if TurnStartEvent not in self._bus.subscribed:
                    return
                event = TurnStartEvent(
                    turn_index=self._policy.turn_index, timestamp=self._clock.now_ms()
                )
            case MessageStart(message=message) if message is self._finished:
                return
            case MessageEnd(message=message):
                if isinstance(message, AssistantMessage) and await self._is_known():
                    return
                if message is self._finished:
                    self._finished = None
                    return
                event = MessageEndEvent(message=message)
            case AgentSettled():
                self._policy.forced_prompt = None
            case SessionInfoChanged(name=name):
                event = SessionInfoChangedEvent(name=name or None)
        await self._emit(event)

    async def _is_known(self) -> bool:
        """Flush token updates; return whether handlers got ``message_end`` before storing."""
        if self._end_tokens is not None:
            await self._updates.flushed()
        was_sent, self._policy.message_end_sent = self._policy.message_end_sent, False
        return was_sent

    async def _emit(self, event: Any) -> None:
        if type(event) in self._bus.subscribed:
            await self._bus.emit(event)

    def _follow_tokens(self, *, enabled: bool) -> None:
        """Subscribe to the tokens of a run only while an extension has a handler for them."""
        if not enabled and self._end_tokens is not None:
            self._end_tokens()
            self._end_tokens = None
        elif enabled and self._end_tokens is None:
            self._end_tokens = self._agent.subscribe(self._handle_token)

    def _handle_token(self, event: object) -> None:
        if type(event) is MessageUpdate:
            self._updates.put(event.assistant_message_event)


def options_from(parts: PromptParts) -> SystemPromptOptions:
    """The options that extensions get; without the sections of extensions."""
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


def forced_prompt(event: BeforeAgentStartEvent, prompt: str) -> str | None:
    """The replacement of ``prompt``, which was built from the options; ``None`` if there is none.

    If a replacement contains the prompt that handlers got, that part is replaced by ``prompt``, so
    that changes of other handlers to the options are kept.
    """
    forced = event.replacement
    if forced is None:
        forced = event.system_prompt_options.force_system_prompt
    if forced is None or not event.system_prompt:
        return forced
    return forced.replace(event.system_prompt, prompt, 1)
