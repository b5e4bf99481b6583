"""The agent loop: send a request, run the tool calls of the response, repeat.

Messages are queued during a run: steering for the next turn, follow-ups for the end. ``Loop`` is
one run; ``AgentRun`` goes from a prompt to idle: one run, the runs that policies add, and the
boundaries around them. The loop knows no particular policy, tool or provider. Every step has the
same order: transform, append to the log, emit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from pi.agent.abort import Abort
from pi.agent.conversation import AgentMessage, Conversation, Finish
from pi.agent.errors import PromptRefused
from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    EntryAppended,
    EventDispatcher,
    MessageEnd,
    MessageStart,
    QueueUpdate,
    TurnEnd,
    TurnStart,
)
from pi.agent.policy import Boundary, Draft, Next, Policy, Request, decide, prepare
from pi.agent.response import (
    ModelResponse,
    ResponseReader,
    SendRequest,
    StreamingResponse,
    failed_message,
)
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import Image, Json, Text, ToolResultMessage, UserMessage, blocks
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record, replace

QueueMode: TypeAlias = Literal["all", "one-at-a-time"]


class MessageQueues:
    """Steering and follow-up queues. A message is delivered by taking it; an abort loses none."""

    def __init__(
        self, *, steering: QueueMode = "one-at-a-time", follow_up: QueueMode = "one-at-a-time"
    ) -> None:
        self.steering_mode: QueueMode = steering
        self.follow_up_mode: QueueMode = follow_up
        self._steering: list[Any] = []
        self._follow_up: list[Any] = []
        self._taken = False

    def steer(self, message: Any) -> None:
        """Queue ``message`` for after the tools of the current turn."""
        self._steering.append(message)

    def follow_up(self, message: Any) -> None:
        """Queue ``message`` for when the agent would stop."""
        self._follow_up.append(message)

    def drain_steering(self) -> Iterator[Any]:
        """Take the messages of the next turn one by one."""
        return self._drain(self._steering, self.steering_mode)

    def drain_follow_up(self) -> Iterator[Any]:
        """Take the messages that start another turn at the end, one by one."""
        return self._drain(self._follow_up, self.follow_up_mode)

    def take_changed(self) -> bool:
        """Whether messages were taken since the last call."""
        taken, self._taken = self._taken, False
        return taken

    def clear(
        self, *, steering: bool = True, follow_up: bool = True
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Empty the queues; returns their messages."""
        steered = tuple(self._steering) if steering else ()
        followed = tuple(self._follow_up) if follow_up else ()
        del self._steering[: len(steered)], self._follow_up[: len(followed)]
        return steered, followed

    @property
    def steering(self) -> tuple[Any, ...]:
        """Messages queued for the next turn."""
        return tuple(self._steering)

    @property
    def follow_ups(self) -> tuple[Any, ...]:
        """Messages queued for the end."""
        return tuple(self._follow_up)

    def update(self) -> QueueUpdate:
        """Both queues as shown to the user."""
        return QueueUpdate(
            steering=tuple(map(message_text, self._steering)),
            follow_up=tuple(map(message_text, self._follow_up)),
        )

    def __bool__(self) -> bool:
        return bool(self._steering or self._follow_up)

    def _drain(self, queue: list[Any], mode: QueueMode) -> Iterator[Any]:
        for _ in range(len(queue) if mode == "all" else 1):
            if queue:
                self._taken = True
                yield queue.pop(0)


def user_message(
    text: str, images: Sequence[Image] = (), *, now_ms: int, meta: Json | UnsetType = UNSET
) -> UserMessage:
    """Make the message of a user's text and images."""
    return UserMessage(content=(Text(text=text), *images), timestamp=now_ms, meta=meta)


def message_text(message: Any) -> str:
    """Return the text of a queued message as it is shown."""
    content = getattr(message, "content", "")
    if not isinstance(content, str | tuple):
        return ""
    return "".join(block.text for block in blocks(content) if isinstance(block, Text))


class AgentRunContext(Record):
    """The parts of an agent that a run uses."""

    conversation: Conversation
    inbox: MessageQueues
    model: Callable[[], Model]
    """The current model."""
    ask: SendRequest
    request: Callable[[], Request]
    """The next request, before policies see it."""
    tools: Callable[[], Mapping[str, AgentTool]]
    changes: Callable[[], Sequence[AgentMessage]]
    """Changes of prompt and tools that are not declared yet; sent before all other messages."""
    finish: Finish
    """Called with every message except model responses before it is stored; may replace it."""
    policies: Sequence[Policy]
    events: EventDispatcher
    clock: Clock
    abort: Abort
    open_answer: StreamingResponse

    async def add(self, drafts: Sequence[Draft]) -> None:
        """Store drafts and emit those that are public."""
        for draft in drafts:
            entry = self.conversation.add(draft)
            if entry is not None:
                await self.events.emit(EntryAppended(entry=entry))


log = logging.getLogger(__name__)


class Turn(Struct):
    """Result of one turn."""

    answered: ModelResponse
    results: tuple[ToolResultMessage, ...] = ()
    terminated: bool = False
    next: Next = Next()

    @property
    def outcome(self) -> Literal["completed", "aborted", "error"]:
        """How the turn ended."""
        match self.answered.message.stop_reason:
            case "error" | "aborted" as reason:
                return reason
            case _:
                return "completed"


class Loop:
    """One run."""

    def __init__(self, context: AgentRunContext) -> None:
        self._context = context
        self._answering = ResponseReader(
            context.ask,
            context.policies,
            events=context.events,
            clock=context.clock,
            abort=context.abort,
            open_answer=context.open_answer,
        )
        self._added: list[AgentMessage] = []

    async def run(self, prompts: Sequence[AgentMessage]) -> Turn:
        """Run turns until there is nothing left to do; returns the last turn."""
        context = self._context
        await context.events.emit(AgentStart())
        turn = await self._turn(
            chain(prompts, self._take_until_abort(context.inbox.drain_steering()))
        )
        while (messages := self._next_messages(turn)) is not None:
            turn.next = await prepare(turn.next, context.abort)
            if turn.next.action == "stop":
                break
            turn = await self._turn(messages)
        again = turn.next.opens_run and not context.abort.requested
        await context.events.emit(AgentEnd(messages=tuple(self._added), will_retry=again))
        return turn

    async def _turn(self, messages: Iterator[AgentMessage]) -> Turn:
        await self._context.events.emit(TurnStart())
        try:
            turn = await self._take_turn(messages)
        except Exception as error:
            turn = await self._fail_turn(error)
        ended = TurnEnd(message=turn.answered.message, tool_results=turn.results)
        await self._context.events.emit(ended)
        return turn

    async def _take_turn(self, messages: Iterator[AgentMessage]) -> Turn:
        context = self._context
        for message in chain(context.changes(), messages):
            await self._deliver(message)
        turn = Turn(await self._answering.answer(context.request()))
        turn.next = turn.answered.next
        try:
            self._store(turn.answered.message)
        finally:  # subscribers that saw the start also see the end, even if storing failed
            await context.events.emit(MessageEnd(message=turn.answered.message))
        if turn.outcome == "completed" and turn.answered.message.tool_calls:
            await self._run_tools(turn)
        boundary = Boundary(
            kind="turn",
            outcome=turn.outcome,
            error=turn.answered.error,
            answer=turn.answered.message,
            results=turn.results,
            next=turn.next,
        )
        turn.next = await decide(context.policies, boundary, context.abort)
        await context.add(turn.next.entries)
        return turn

    async def _run_tools(self, turn: Turn) -> None:
        from pi.agent.tool_calls import ToolBatch  # deferred: the first request does not need it

        context = self._context
        batch = ToolBatch(
            turn.answered.message,
            tools=context.tools(),
            policies=context.policies,
            emit=context.events.emit,
            clock=context.clock,
            model=context.model(),
            abort=context.abort.request,
        )
        with context.abort.on_abort(batch.cancel):
            turn.results = tuple(await batch.run())
        turn.terminated, turn.next = batch.terminates, batch.next
        turn.results = tuple([await self._deliver(result) for result in turn.results])

    async def _fail_turn(self, error: Exception) -> Turn:
        """End a turn that failed with an error message in place of the response."""
        log.error("a turn failed", exc_info=error)
        context = self._context
        reason: Literal["aborted", "error"] = "aborted" if context.abort.requested else "error"
        message = failed_message(
            context.model(), reason, str(error) or repr(error), now_ms=context.clock.now_ms()
        )
        try:
            self._store(message)
        except Exception:
            log.exception("the error message could not be stored")
        await context.events.emit(MessageStart(message=message))
        await context.events.emit(MessageEnd(message=message))
        return Turn(ModelResponse(message))

    def _next_messages(self, turn: Turn) -> Iterator[AgentMessage] | None:
        """Return the messages of the next turn; ``None`` if there is no next turn."""
        inbox = self._context.inbox
        if turn.next.action == "stop" or turn.next.opens_run or turn.terminated:
            return None
        if self._context.abort.requested:
            # Cancelled tools get one last turn, which fails at once.
            return iter(()) if turn.results else None
        if turn.next.action == "again" or turn.results:
            return self._take_until_abort(inbox.drain_steering())
        if turn.outcome != "completed":
            return None
        if inbox.steering:
            return self._take_until_abort(inbox.drain_steering())
        return self._take_until_abort(inbox.drain_follow_up()) if inbox.follow_ups else None

    def _take_until_abort(self, queue: Iterator[AgentMessage]) -> Iterator[AgentMessage]:
        """Take from a queue until an abort: a run that ends must not consume messages."""
        while not self._context.abort.requested and (message := next(queue, None)) is not None:
            yield message

    async def _deliver(self, message: AgentMessage) -> AgentMessage:
        """Store and emit a complete message; returns the stored message."""
        if self._context.inbox.take_changed():
            await self._context.events.emit(self._context.inbox.update())
        message = await self._context.finish(message)
        self._store(message)
        await self._context.events.emit(MessageStart(message=message))
        await self._context.events.emit(MessageEnd(message=message))
        return message

    def _store(self, message: AgentMessage) -> None:
        self._context.conversation.append(message)
        self._added.append(message)


class AgentRun:
    """All runs that one prompt causes."""

    def __init__(self, context: AgentRunContext) -> None:
        self._context = context

    async def run(self, prompts: Sequence[AgentMessage]) -> Next:
        """Run until the agent is idle; returns the decision of the last boundary."""
        context = self._context
        await self._begin()
        while True:
            turn = await Loop(context).run(prompts)
            ended = await self._settle(turn)
            if ended.action == "stop" or context.abort.requested:  # overrides all other decisions
                break
            if ended.action == "again":
                prompts = ()
            elif turn.outcome == "completed" and context.inbox:
                # Queued after the last check of the run: deliver it now, not with the next prompt.
                prompts = () if context.inbox.steering else tuple(context.inbox.drain_follow_up())
            else:
                break
        await context.events.emit(AgentSettled())
        return ended

    async def _begin(self) -> None:
        context = self._context
        first = await decide(context.policies, Boundary(kind="prompt"), context.abort)
        await context.add(first.entries)
        if first.action != "stop":
            first = await prepare(first, context.abort)
        if first.action == "stop":
            raise PromptRefused(first.reason or "The prompt was rejected by a policy.")

    async def _settle(self, turn: Turn) -> Next:
        """Return the policies' decision after a run."""
        context, decision = self._context, turn.next
        if decision.opens_run:
            decision = await prepare(decision, context.abort)
            if decision.opens_run and not context.abort.requested:
                return decision
        at = Boundary(
            kind="settle",
            outcome="aborted" if context.abort.requested else turn.outcome,
            error=turn.answered.error,
            answer=turn.answered.message,
            # A stopped run stays stopped; its draft entries are already stored.
            next=replace(decision, entries=()) if decision.action == "stop" else Next(),
        )
        decision = await decide(context.policies, at, context.abort)
        try:
            await context.add(decision.entries)
        except Exception:
            log.exception("draft entries of policies could not be stored after the run")
        return decision if decision.action == "stop" else await prepare(decision, context.abort)
