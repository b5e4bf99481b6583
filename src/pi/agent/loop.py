"""The loop: ask, run the tools that the answer wants, ask again.

It knows no policy, no tool and no provider. Every step has the same order: transform, append to
the log, tell.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from pi.agent.conversation import AgentMessage
from pi.agent.errors import PromptRefused
from pi.agent.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageStart,
    TurnEnd,
    TurnStart,
)
from pi.agent.policy import Boundary, Next
from pi.agent.response import ModelResponse, ResponseReader, failed_message
from pi.agent.run_context import AgentRunContext, decide, prepare
from pi.ai.messages import ToolResultMessage
from pi.base.records import replace

log = logging.getLogger(__name__)


class Turn(Struct):
    """What one turn came to."""

    answered: ModelResponse
    results: tuple[ToolResultMessage, ...] = ()
    terminated: bool = False
    next: Next = Next()

    @property
    def outcome(self) -> Literal["completed", "aborted", "error"]:
        """How it ended."""
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
            emit=context.emit,
            clock=context.clock,
            abort=context.abort,
            open_answer=context.open_answer,
        )
        self._added: list[AgentMessage] = []

    async def run(self, prompts: Sequence[AgentMessage]) -> Turn:
        """Turn after turn until there is nothing left to do; gives the last one."""
        context = self._context
        await context.emit(AgentStart())
        turn = await self._turn(chain(prompts, self._taken(context.inbox.drain_steering())))
        while (messages := self._goes_on_with(turn)) is not None:
            turn.next = await prepare(turn.next, context.abort)
            if turn.next.action == "stop":
                break
            turn = await self._turn(messages)
        again = turn.next.opens_run and not context.abort.requested
        await context.emit(AgentEnd(messages=tuple(self._added), will_retry=again))
        return turn

    async def _turn(self, messages: Iterator[AgentMessage]) -> Turn:
        await self._context.emit(TurnStart())
        try:
            turn = await self._take_turn(messages)
        except Exception as bug:
            turn = await self._break_off(bug)
        await self._context.emit(TurnEnd(message=turn.answered.message, tool_results=turn.results))
        return turn

    async def _take_turn(self, messages: Iterator[AgentMessage]) -> Turn:
        context = self._context
        for message in chain(context.changes(), messages):
            await self._deliver(message)
        turn = Turn(await self._answering.answer(context.request()))
        turn.next = turn.answered.next
        try:
            self._keep(turn.answered.message)
        finally:  # whoever saw it begin sees it end, kept or not
            await context.emit(MessageEnd(message=turn.answered.message))
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
        from pi.agent.tool_calls import ToolBatch  # the first request does not wait for it

        context = self._context
        batch = ToolBatch(
            turn.answered.message,
            tools=context.tools(),
            policies=context.policies,
            emit=context.emit,
            clock=context.clock,
        )
        with context.abort.on_abort(batch.cancel):
            turn.results = tuple(await batch.run())
        turn.terminated, turn.next = batch.terminates, batch.next
        turn.results = tuple([await self._deliver(result) for result in turn.results])

    async def _break_off(self, bug: Exception) -> Turn:
        """End a turn that failed with an answer that says so."""
        log.error("a turn failed", exc_info=bug)
        context = self._context
        reason: Literal["aborted", "error"] = "aborted" if context.abort.requested else "error"
        message = failed_message(
            context.model(), reason, str(bug) or repr(bug), now_ms=context.clock.now_ms()
        )
        try:
            self._keep(message)
        except Exception:
            log.exception("the failure could not be kept")
        await context.emit(MessageStart(message=message))
        await context.emit(MessageEnd(message=message))
        return Turn(ModelResponse(message))

    def _goes_on_with(self, turn: Turn) -> Iterator[AgentMessage] | None:
        """Where the next turn's messages come from; ``None`` when there is no next turn."""
        inbox = self._context.inbox
        if turn.next.action == "stop" or turn.next.opens_run or turn.terminated:
            return None
        if self._context.abort.requested:
            # Tools that were cancelled are answered by one last turn that fails at once.
            return iter(()) if turn.results else None
        if turn.next.action == "again" or turn.results:
            return self._taken(inbox.drain_steering())
        if turn.outcome != "completed":
            return None
        if inbox.steering:
            return self._taken(inbox.drain_steering())
        return self._taken(inbox.drain_follow_up()) if inbox.follow_ups else None

    def _taken(self, queue: Iterator[AgentMessage]) -> Iterator[AgentMessage]:
        """What a queue gives until an abort comes: a run that ends must not swallow messages."""
        while not self._context.abort.requested and (message := next(queue, None)) is not None:
            yield message

    async def _deliver(self, message: AgentMessage) -> AgentMessage:
        """Put a message that is already whole into the log and tell it; gives what was put."""
        if self._context.inbox.take_changed():
            await self._context.emit(self._context.inbox.update())
        message = await self._context.finish(message)
        self._keep(message)
        await self._context.emit(MessageStart(message=message))
        await self._context.emit(MessageEnd(message=message))
        return message

    def _keep(self, message: AgentMessage) -> None:
        self._context.conversation.append(message)
        self._added.append(message)


# From a prompt to idle: one run, those that a policy adds, and the boundaries around them.


class AgentRun:
    """Everything that one prompt sets off."""

    def __init__(self, context: AgentRunContext) -> None:
        self._context = context

    async def run(self, prompts: Sequence[AgentMessage]) -> Next:
        """Answer ``prompts`` until the agent is idle; gives what the last boundary decided."""
        context = self._context
        await self._begin()
        while True:
            turn = await Loop(context).run(prompts)
            ended = await self._ended(turn)
            if ended.action == "stop" or context.abort.requested:  # whatever anybody else wants
                break
            if ended.action == "again":
                prompts = ()
            elif turn.outcome == "completed" and context.inbox:
                # Queued too late for the run that has ended: it must not lie there.
                prompts = () if context.inbox.steering else tuple(context.inbox.drain_follow_up())
            else:
                break
        await context.emit(AgentSettled())
        return ended

    async def _begin(self) -> None:
        context = self._context
        first = await decide(context.policies, Boundary(kind="prompt"), context.abort)
        await context.add(first.entries)
        if first.action != "stop":
            first = await prepare(first, context.abort)
        if first.action == "stop":
            raise PromptRefused(first.reason or "A policy does not want this prompt.")

    async def _ended(self, turn: Turn) -> Next:
        """What somebody wants now that a run has ended."""
        context, wanted = self._context, turn.next
        if wanted.opens_run:
            wanted = await prepare(wanted, context.abort)
            if wanted.opens_run and not context.abort.requested:
                return wanted
        at = Boundary(
            kind="settle",
            outcome="aborted" if context.abort.requested else turn.outcome,
            error=turn.answered.error,
            answer=turn.answered.message,
            # A run that was stopped stays stopped; what it drafted is in the log already.
            next=replace(wanted, entries=()) if wanted.action == "stop" else Next(),
        )
        wanted = await decide(context.policies, at, context.abort)
        try:
            await context.add(wanted.entries)
        except Exception:
            log.exception("what policies drafted at the end could not be kept")
        return wanted if wanted.action == "stop" else await prepare(wanted, context.abort)
