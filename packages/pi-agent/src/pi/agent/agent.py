"""The agent: a conversation, a model, tools, and one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from pi.agent.conversation import (
    AgentMessage,
    Conversation,
    Convert,
    Finish,
    MemoryConversation,
    Projection,
    PromptText,
    Transform,
    instruction_changes,
    prompt_text,
    unchanged,
)
from pi.agent.errors import AgentBusy, CannotContinue, WouldDeadlock
from pi.agent.events import EventDispatcher, RunState
from pi.agent.loop import AgentRun
from pi.agent.nested_calls import current_log
from pi.agent.policy import Abort, Next, Policy, Request
from pi.agent.queues import MessageQueues, QueueMode, user_message
from pi.agent.response import StreamingResponse
from pi.agent.tools.tool import AgentTool
from pi.ai.event_stream import EventStream
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Image,
    SystemMessage,
    Tool,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.transcript import final_tools
from pi.base.clock import Clock, SystemClock
from pi.base.records import Record, replace

StreamFn: TypeAlias = Callable[[Model, Context, StreamOptions], EventStream]
"""Streams a model response; ``Models.stream_simple`` is one."""

_inside: ContextVar[frozenset[Abort]] = ContextVar("inside", default=frozenset())
"""The runs around the current task, nested ones included; each is identified by its ``Abort``."""


class AgentState(Record):
    """Snapshot of an agent."""

    system_prompt: str
    model: Model
    thinking_level: ThinkingLevel
    tools: tuple[AgentTool, ...]
    messages: tuple[AgentMessage, ...]
    is_streaming: bool
    streaming_message: AssistantMessage | None
    pending_tool_calls: frozenset[str]
    error_message: str | None


class Agent:
    """Sends requests to a model, runs the requested tools, and repeats.

    ``model``, ``thinking_level``, ``system_prompt`` and ``tools`` may be set at any time; the next
    request uses them.
    """

    def __init__(
        self,
        stream: StreamFn,
        *,
        model: Model,
        thinking_level: ThinkingLevel = "off",
        system_prompt: PromptText = "",
        tools: Iterable[AgentTool] = (),
        conversation: Conversation | None = None,
        policies: Iterable[Policy] = (),
        convert_to_llm: Convert | None = None,
        transform_context: Transform | None = None,
        options: StreamOptions | None = None,
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
        clock: Clock | None = None,
    ) -> None:
        self.model = model
        self.thinking_level = thinking_level
        self.system_prompt: PromptText = system_prompt
        self.tools = tuple(tools)
        self.policies = tuple(policies)
        self.finish: Finish = unchanged
        """Called with every message except model responses before it is stored; may replace it."""
        self.inbox = MessageQueues(steering=steering_mode, follow_up=follow_up_mode)
        self.open_answer = StreamingResponse()
        """The response being streamed; used to interrupt it from outside the stream."""
        self.progress = RunState()
        """Progress of the current run."""
        self.conversation: Conversation = (
            MemoryConversation() if conversation is None else conversation
        )
        """Replaced by ``reset``."""
        self._projection = Projection(convert_to_llm, transform_context)
        self._ask_model = stream
        self._options = options or StreamOptions()
        self.clock = clock or SystemClock()
        self.events = EventDispatcher()
        self.events.add(self.progress.handle, kinds=RunState.KINDS)
        self._abort: Abort | None = None
        self._task: asyncio.Task[Next] | None = None
        self.subscribe = self.events.add
        """Subscribe to events in order; returns an unsubscribe function.

        With ``kinds`` the listener gets only events of these types.
        """
        self.emit: Callable[[Any], Coroutine[Any, Any, None]] = self.events.emit_after_current
        """Emit an event of the application, of any type, in order with the agent's own events."""

    # Prompting -----------------------------------------------------------------------------------

    async def prompt(
        self,
        message: str | AgentMessage | Sequence[AgentMessage],
        images: Sequence[Image] = (),
    ) -> Next:
        """Start a run and wait for its end. Raises ``AgentBusy`` while another run is active.

        Returns the decision of the last boundary: reason and exit code if a policy stopped the run.
        """
        if isinstance(message, str):
            message = user_message(message, images, now_ms=self.clock.now_ms())
        messages = message if isinstance(message, list | tuple) else (message,)
        return await self._run(tuple(messages))

    async def continue_(self) -> Next:
        """Continue the conversation; its last message must be a user message or a tool result."""
        self.require_idle()
        last = self._projection.messages(self.conversation.messages())[-1:]
        if not last or not isinstance(last[0], UserMessage | ToolResultMessage):
            raise CannotContinue(
                "Cannot continue: the last message is neither a user message nor a tool result."
            )
        return await self._run(())

    async def steer(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Queue ``message`` for delivery after the tools of the current turn."""
        self.inbox.steer(self._queued(message, images))
        await self.events.emit_after_current(self.inbox.update())

    async def follow_up(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Queue ``message`` for delivery when the agent would stop."""
        self.inbox.follow_up(self._queued(message, images))
        await self.events.emit_after_current(self.inbox.update())

    async def clear_queue(self) -> tuple[tuple[AgentMessage, ...], tuple[AgentMessage, ...]]:
        """Empty the queues; returns the steering and the follow-up messages."""
        messages = self.inbox.clear()
        await self.events.emit_after_current(self.inbox.update())
        return messages

    # Stopping and waiting ------------------------------------------------------------------------

    def abort(self) -> None:
        """Abort the run. Messages so far are kept and the queues do not change."""
        if self._abort is not None:
            self._abort.request()

    async def wait_for_idle(self) -> None:
        """Wait until no run is active and all listeners have handled its last event."""
        self._refuse_inside_run("wait for the end of the run")
        while self._task is not None:
            await asyncio.wait({self._task})

    def require_idle(self) -> None:
        """Raise ``AgentBusy`` during a run, ``WouldDeadlock`` from inside it."""
        self._refuse_inside_run("start work that needs the run to end")
        if self._task is not None:
            raise AgentBusy(
                "Agent is already processing a prompt.",
                hint="Use steer() or follow_up() to queue messages, or wait for it to end.",
            )

    def reset(self, conversation: Conversation | None = None) -> None:
        """Start a new conversation with empty queues: ``conversation``, or one in memory.

        Prompt and tools stay. Raises ``AgentBusy`` during a run.
        """
        self.require_idle()
        self.conversation = MemoryConversation() if conversation is None else conversation
        self.inbox.clear()
        self.progress.error = None

    # Requests ------------------------------------------------------------------------------------

    def request(self) -> Request:
        """The request for the conversation so far, before policies."""
        return Request(
            model=self.model,
            thinking=self.thinking_level,
            messages=self._projection.messages(self.conversation.messages()),
            tools=self._declared(),
            tool_choice=self._options.tool_choice,
        )

    @property
    def declared_tools(self) -> frozenset[str]:
        """The names of the tools that the conversation declares."""
        instructions = self._projection.instructions(self.conversation.messages())
        return frozenset(tool.name for tool in final_tools(instructions))

    def undeclared_changes(self) -> Sequence[SystemMessage]:
        """Changes of prompt and tools that the conversation does not contain yet."""
        system_messages = self._projection.instructions(self.conversation.messages())
        return instruction_changes(
            system_messages, self.system_prompt, self._declared(), now_ms=self.clock.now_ms()
        )

    def next_request(self) -> Request:
        """The request that would be sent now, before policies. Sends and stores nothing."""
        request = self.request()
        return replace(request, messages=(*request.messages, *self.undeclared_changes()))

    def send(self, request: Request) -> EventStream:
        """Send ``request`` to its model and return the response as it arrives."""
        messages = request.messages
        if request.tools != self._declared():  # a policy changed the tools for this request only
            system_messages = [
                message for message in messages if isinstance(message, SystemMessage)
            ]
            now_ms = self.clock.now_ms()
            messages = (
                *messages,
                *instruction_changes(system_messages, None, request.tools, now_ms=now_ms),
            )
        options = replace(
            self._options, reasoning=request.thinking, tool_choice=request.tool_choice
        )
        answer = self._ask_model(request.model, Context(messages=messages), options)
        self.progress.start_response(answer)
        return answer

    # Events and state ----------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether a run is active; cheaper than ``state``."""
        return self._task is not None

    @property
    def state(self) -> AgentState:
        """Snapshot of the agent."""
        return AgentState(
            system_prompt=prompt_text(self.system_prompt),
            model=self.model,
            thinking_level=self.thinking_level,
            tools=self.tools,
            messages=tuple(self.conversation.messages()),
            is_streaming=self.is_running,
            streaming_message=self.progress.partial_answer,
            pending_tool_calls=frozenset(self.progress.open_calls),
            error_message=self.progress.error,
        )

    # ---------------------------------------------------------------------------------------------

    async def _run(self, prompts: tuple[AgentMessage, ...]) -> Next:
        self.require_idle()
        self.progress.error = None
        self._abort = abort = Abort(self.clock)
        self._task = task = asyncio.get_running_loop().create_task(
            self._guarded(abort, prompts), name="agent run"
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            abort.request()  # the caller was cancelled; the run still ends in order
            await asyncio.wait({task})
            raise

    async def _guarded(self, abort: Abort, prompts: tuple[AgentMessage, ...]) -> Next:
        _inside.set(_inside.get() | {abort})
        current_log.set(None)  # a run inside a tool makes no calls of that tool
        try:
            await self._projection.prepare(self.conversation.messages())
            return await AgentRun(self, abort).run(prompts)
        finally:
            self._task = self._abort = None
            self.progress.end()

    def _declared(self) -> tuple[Tool, ...]:
        return tuple(tool.declaration for tool in self.tools)

    def _queued(self, message: str | AgentMessage, images: Sequence[Image]) -> AgentMessage:
        if isinstance(message, str):
            return user_message(message, images, now_ms=self.clock.now_ms())
        return message

    def _refuse_inside_run(self, action: str) -> None:
        if self._abort in _inside.get():
            raise WouldDeadlock(
                f"Cannot {action} from inside the run.",
                hint="Queue a message instead, or do it when the agent is idle.",
            )
