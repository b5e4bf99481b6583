"""An agent: a conversation, a model, tools, and one run at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TypeAlias

from pi.agent.abort import Abort
from pi.agent.conversation import (
    AgentMessage,
    Conversation,
    Convert,
    Finish,
    MemoryConversation,
    Projection,
    Transform,
    unchanged,
)
from pi.agent.errors import AgentBusy, CannotContinue, WouldDeadlock
from pi.agent.events import (
    AgentEvent,
    EventDispatcher,
    Listener,
    MessageEnd,
    MessageStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from pi.agent.loop import AgentRun
from pi.agent.model_requests import PromptText, instruction_changes, prompt_text
from pi.agent.policy import Next, Policy, Request
from pi.agent.queues import MessageQueues, QueueMode, user_message
from pi.agent.response import StreamingResponse
from pi.agent.run_context import AgentRunContext
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Image,
    SystemMessage,
    Tool,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.clock import Clock, SystemClock
from pi.base.records import Record, replace

# How far an agent has come with its run.


class RunState:
    """Follows what an agent tells; nothing is open between two runs."""

    def __init__(self) -> None:
        self.open_calls: set[str] = set()
        """The calls of tools that have not ended."""
        self.error: str | None = None
        """Why the last answer failed, if it did."""
        self._answer: EventStream | None = None
        self._answering = False

    @property
    def partial_answer(self) -> AssistantMessage | None:
        """The answer that is being streamed, as far as it has come."""
        return self._answer.partial if self._answering and self._answer is not None else None

    def start_response(self, answer: EventStream) -> None:
        """The model was asked; this is what it will answer."""
        self._answer = answer

    def handle(self, event: AgentEvent) -> None:
        """Take what the agent tells."""
        match event:
            case MessageStart(message=AssistantMessage()):
                self._answering = True
            case MessageEnd(message=AssistantMessage() as message):
                self._answering = False
                self.error = message.error_message or None
            case ToolExecutionStart():
                self.open_calls.add(event.tool_call_id)
            case ToolExecutionEnd():
                self.open_calls.discard(event.tool_call_id)
            case _:
                pass

    def end(self) -> None:
        """The run is over."""
        self._answer = None
        self._answering = False
        self.open_calls.clear()


StreamFn: TypeAlias = Callable[[Model, Context, StreamOptions], EventStream]
"""Reaches a model; ``Models.stream_simple`` is one."""

_inside: ContextVar[frozenset[Abort]] = ContextVar("inside", default=frozenset())
"""The runs that the current task works for, each known by its abort; nested ones included."""


class AgentState(Record):
    """What an agent is at this moment."""

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
    """Asks a model, runs the tools it wants, and asks again.

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
        """Asked about every message but the model's, before it is kept."""
        self.inbox = MessageQueues(steering=steering_mode, follow_up=follow_up_mode)
        self.open_answer = StreamingResponse()
        """The answer that is being streamed, for whoever wants it cut."""
        self.progress = RunState()
        """How far the run has come."""
        self._conversation: Conversation = (
            MemoryConversation() if conversation is None else conversation
        )
        self._projection = Projection(convert_to_llm, transform_context)
        self._ask_model = stream
        self._options = options or StreamOptions()
        self._clock = clock or SystemClock()
        self._listeners = EventDispatcher()
        self._listeners.add(self.progress.handle, updates=False)
        self._abort: Abort | None = None
        self._task: asyncio.Task[Next] | None = None

    # Asking --------------------------------------------------------------------------------------

    async def prompt(
        self,
        message: str | AgentMessage | Sequence[AgentMessage],
        images: Sequence[Image] = (),
    ) -> Next:
        """Start a run and wait for its end. ``AgentBusy`` while another one is under way.

        Gives what the last boundary decided: reason and exit code if a policy stopped the run.
        """
        if isinstance(message, str):
            message = user_message(message, images, now_ms=self._clock.now_ms())
        messages = message if isinstance(message, list | tuple) else (message,)
        return await self._run(tuple(messages))

    async def continue_(self) -> Next:
        """Answer what is there: the last message must be a person's or a tool's."""
        self.must_be_idle()
        last = self._projection.messages(self._conversation.messages())[-1:]
        if not last or not isinstance(last[0], UserMessage | ToolResultMessage):
            raise CannotContinue("There is nothing to answer: the last message is not a question.")
        return await self._run(())

    async def steer(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Have ``message`` delivered after the tools of the current turn."""
        self.inbox.steer(self._queued(message, images))
        await self._listeners.emit_after_current(self.inbox.update())

    async def follow_up(self, message: str | AgentMessage, images: Sequence[Image] = ()) -> None:
        """Have ``message`` delivered when the agent would stop."""
        self.inbox.follow_up(self._queued(message, images))
        await self._listeners.emit_after_current(self.inbox.update())

    async def clear_queue(self) -> tuple[tuple[AgentMessage, ...], tuple[AgentMessage, ...]]:
        """Take back what was queued: steering and follow-ups."""
        taken = self.inbox.clear()
        await self._listeners.emit_after_current(self.inbox.update())
        return taken

    # Stopping and waiting ------------------------------------------------------------------------

    def abort(self) -> None:
        """Ask the run to end; what was said is kept and queues stay as they are."""
        if self._abort is not None:
            self._abort.request()

    async def wait_for_idle(self) -> None:
        """Until no run is under way and every listener has heard of its end."""
        self._not_from_inside("wait for the end of the run")
        while self._task is not None:
            await asyncio.wait({self._task})

    def must_be_idle(self) -> None:
        """For what a run forbids: ``AgentBusy`` during one, ``WouldDeadlock`` from inside it."""
        self._not_from_inside("begin something that needs its end")
        if self._task is not None:
            raise AgentBusy(
                "Agent is already processing a prompt.",
                hint="Use steer() or follow_up() to queue messages, or wait for it to end.",
            )

    def reset(self, conversation: Conversation | None = None) -> None:
        """Begin a new conversation, in memory or where it is given, with empty queues.

        Prompt and tools stay. Refused during a run.
        """
        self.must_be_idle()
        self._conversation = MemoryConversation() if conversation is None else conversation
        self.inbox.clear()
        self.progress.error = None

    # Watching ------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener, *, updates: bool = True) -> Callable[[], None]:
        """Have ``listener`` called with every event, in order; gives what ends that.

        Without ``updates`` it is spared what is told with every token.
        """
        return self._listeners.add(listener, updates=updates)

    async def emit(self, event: AgentEvent) -> None:
        """Tell everybody an event of the program around the agent, in order with its own."""
        await self._listeners.emit_after_current(event)

    @property
    def conversation(self) -> Conversation:
        """Where messages are kept; ``reset`` gives another one."""
        return self._conversation

    @property
    def is_running(self) -> bool:
        """Whether a run is under way; ``state`` says the same and more, at a price."""
        return self._task is not None

    def next_request(self) -> Request:
        """What would be asked now, before policies change it; nothing is sent or stored."""
        request = self._request()
        return replace(request, messages=(*request.messages, *self._changes()))

    @property
    def state(self) -> AgentState:
        """Everything about the agent, as it is now."""
        return AgentState(
            system_prompt=prompt_text(self.system_prompt),
            model=self.model,
            thinking_level=self.thinking_level,
            tools=self.tools,
            messages=tuple(self._conversation.messages()),
            is_streaming=self.is_running,
            streaming_message=self.progress.partial_answer,
            pending_tool_calls=frozenset(self.progress.open_calls),
            error_message=self.progress.error,
        )

    # ---------------------------------------------------------------------------------------------

    async def _run(self, prompts: tuple[AgentMessage, ...]) -> Next:
        self.must_be_idle()
        self.progress.error = None
        self._abort = abort = Abort(self._clock)
        self._task = task = asyncio.get_running_loop().create_task(
            self._guarded(abort, prompts), name="agent run"
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            abort.request()  # the caller has gone; the run still ends in order
            await asyncio.wait({task})
            raise

    async def _guarded(self, abort: Abort, prompts: tuple[AgentMessage, ...]) -> Next:
        _inside.set(_inside.get() | {abort})
        try:
            return await AgentRun(self._run_context(abort)).run(prompts)
        finally:
            self._task = self._abort = None
            self.progress.end()

    def _run_context(self, abort: Abort) -> AgentRunContext:
        return AgentRunContext(
            conversation=self._conversation,
            inbox=self.inbox,
            model=lambda: self.model,
            ask=self._ask,
            request=self._request,
            tools=lambda: {tool.name: tool for tool in self.tools},
            changes=self._changes,
            finish=self.finish,
            policies=tuple(self.policies),
            emit=self._listeners.emit,
            clock=self._clock,
            abort=abort,
            open_answer=self.open_answer,
        )

    def _request(self) -> Request:
        return Request(
            model=self.model,
            thinking=self.thinking_level,
            messages=self._projection.messages(self._conversation.messages()),
            tools=self._declared(),
            tool_choice=self._options.tool_choice,
        )

    def _changes(self) -> Sequence[SystemMessage]:
        said = self._projection.instructions(self._conversation.messages())
        return instruction_changes(
            said, self.system_prompt, self._declared(), now_ms=self._clock.now_ms()
        )

    def _ask(self, request: Request) -> EventStream:
        messages = request.messages
        if request.tools != self._declared():  # a policy wants others for this request alone
            said = [message for message in messages if isinstance(message, SystemMessage)]
            now_ms = self._clock.now_ms()
            messages = (*messages, *instruction_changes(said, None, request.tools, now_ms=now_ms))
        options = replace(
            self._options, reasoning=request.thinking, tool_choice=request.tool_choice
        )
        answer = self._ask_model(request.model, Context(messages=messages), options)
        self.progress.start_response(answer)
        return answer

    def _declared(self) -> tuple[Tool, ...]:
        return tuple(tool.declaration for tool in self.tools)

    def _queued(self, message: str | AgentMessage, images: Sequence[Image]) -> AgentMessage:
        if isinstance(message, str):
            return user_message(message, images, now_ms=self._clock.now_ms())
        return message

    def _not_from_inside(self, what: str) -> None:
        if self._abort in _inside.get():
            raise WouldDeadlock(
                f"Something inside the run wants to {what}.",
                hint="Queue a message instead, or do it when the agent is idle.",
            )
