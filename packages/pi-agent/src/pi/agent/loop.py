"""The agent loop: send a request, run the tool calls of the response, repeat.

``Loop`` is one run; ``AgentRun`` goes from a prompt to idle: one run, the runs that policies add,
and the boundaries around them. The loop depends on no particular policy, tool or provider. Every
step has the same order: transform, append to the log, emit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from pi.agent.conversation import AgentMessage, store_drafts
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
from pi.agent.policy import Abort, Boundary, Next, Policy, decide, prepare
from pi.agent.queues import LoopAgent
from pi.agent.response import ModelResponse, ResponseReader, failed_message
from pi.ai.messages import ToolResultMessage
from pi.base.records import replace

log = logging.getLogger(__name__)


class Turn(Struct):
    """Result of one turn."""

    response: ModelResponse
    results: tuple[ToolResultMessage, ...] = ()
    terminated: bool = False
    next: Next = Next()

    @property
    def outcome(self) -> Literal["completed", "aborted", "error"]:
        """How the turn ended."""
        match self.response.message.stop_reason:
            case "error" | "aborted" as reason:
                return reason
            case _:
                return "completed"


class Loop:
    """One run of an agent, with the policies that the agent had at the prompt."""

    def __init__(self, agent: LoopAgent, policies: Sequence[Policy], abort: Abort) -> None:
        self._agent = agent
        self._policies = policies
        self._abort = abort
        self._emit = agent.events.emit
        self._reader = ResponseReader(
            agent.send,
            policies,
            events=agent.events,
            clock=agent.clock,
            abort=abort,
            open_answer=agent.open_answer,
        )
        self._added: list[AgentMessage] = []

    async def run(self, prompts: Sequence[AgentMessage]) -> Turn:
        """Run turns until there is nothing left to do; returns the last turn."""
        await self._emit(AgentStart())
        steering = self._agent.inbox.drain_steering()
        turn = await self._turn(chain(prompts, self._until_abort(steering)))
        while (messages := self._next_messages(turn)) is not None:
            turn.next = await prepare(turn.next, self._abort)
            if turn.next.action == "stop":
                break
            turn = await self._turn(messages)
        will_retry = turn.next.opens_run and not self._abort.requested
        await self._emit(AgentEnd(messages=tuple(self._added), will_retry=will_retry))
        return turn

    async def _turn(self, messages: Iterator[AgentMessage]) -> Turn:
        await self._emit(TurnStart())
        try:
            turn = await self._run_turn(messages)
        except Exception as error:
            turn = await self._fail_turn(error)
        await self._emit(TurnEnd(message=turn.response.message, tool_results=turn.results))
        return turn

    async def _run_turn(self, messages: Iterator[AgentMessage]) -> Turn:
        for message in chain(self._agent.undeclared_changes(), messages):
            await self._deliver(message)
        turn = Turn(await self._reader.answer(self._agent.request()))
        turn.next = turn.response.next
        try:
            self._store(turn.response.message)
        finally:  # subscribers that saw the start also see the end, even if storing failed
            await self._emit(MessageEnd(message=turn.response.message))
        if turn.outcome == "completed" and turn.response.message.tool_calls:
            await self._run_tools(turn)
        boundary = Boundary(
            kind="turn",
            outcome=turn.outcome,
            error=turn.response.error,
            answer=turn.response.message,
            results=turn.results,
            next=turn.next,
        )
        turn.next = await decide(self._policies, boundary, self._abort)
        await store_drafts(self._agent.conversation, turn.next.entries, self._emit)
        return turn

    async def _run_tools(self, turn: Turn) -> None:
        from pi.agent.tool_calls import ToolBatch  # deferred: the first request does not need it

        agent = self._agent
        batch = ToolBatch(
            turn.response.message,
            tools={tool.name: tool for tool in agent.tools},
            policies=self._policies,
            emit=self._emit,
            clock=agent.clock,
            model=agent.model,
            abort=self._abort.request,
        )
        with self._abort.on_abort(batch.cancel):
            turn.results = tuple(await batch.run())
        turn.terminated, turn.next = batch.terminates, batch.next
        turn.results = tuple([await self._deliver(result) for result in turn.results])

    async def _fail_turn(self, error: Exception) -> Turn:
        """End a turn that failed with an error message in place of the response."""
        log.error("a turn failed", exc_info=error)
        agent = self._agent
        reason: Literal["aborted", "error"] = "aborted" if self._abort.requested else "error"
        message = failed_message(
            agent.model, reason, str(error) or repr(error), now_ms=agent.clock.now_ms()
        )
        try:
            self._store(message)
        except Exception:
            log.exception("the error message could not be stored")
        await self._emit(MessageStart(message=message))
        await self._emit(MessageEnd(message=message))
        return Turn(ModelResponse(message))

    def _next_messages(self, turn: Turn) -> Iterator[AgentMessage] | None:
        """Return the messages of the next turn; ``None`` if there is no next turn."""
        inbox = self._agent.inbox
        if turn.next.action == "stop" or turn.next.opens_run or turn.terminated:
            return None
        if self._abort.requested:
            # Cancelled tools get one last turn, which fails at once.
            return iter(()) if turn.results else None
        if turn.next.action == "again" or turn.results:
            return self._until_abort(inbox.drain_steering())
        if turn.outcome != "completed":
            return None
        if inbox.steering:
            return self._until_abort(inbox.drain_steering())
        return self._until_abort(inbox.drain_follow_up()) if inbox.follow_ups else None

    def _until_abort(self, queue: Iterator[AgentMessage]) -> Iterator[AgentMessage]:
        """Yield from a queue until an abort: a run that ends must not consume messages."""
        while not self._abort.requested and (message := next(queue, None)) is not None:
            yield message

    async def _deliver(self, message: AgentMessage) -> AgentMessage:
        """Store and emit a complete message; returns the stored message."""
        if self._agent.inbox.has_drained:
            await self._emit(self._agent.inbox.update())
        message = await self._agent.finish(message)
        self._store(message)
        await self._emit(MessageStart(message=message))
        await self._emit(MessageEnd(message=message))
        return message

    def _store(self, message: AgentMessage) -> None:
        self._agent.conversation.append(message)
        self._added.append(message)


class AgentRun:
    """All runs that one prompt causes."""

    def __init__(self, agent: LoopAgent, abort: Abort) -> None:
        self._agent = agent
        self._policies = tuple(agent.policies)
        self._abort = abort
        self._emit = agent.events.emit

    async def run(self, prompts: Sequence[AgentMessage]) -> Next:
        """Run until the agent is idle; returns the decision of the last boundary."""
        inbox = self._agent.inbox
        await self._begin()
        while True:
            turn = await Loop(self._agent, self._policies, self._abort).run(prompts)
            decision = await self._settle(turn)
            if decision.action == "stop" or self._abort.requested:  # overrides all other decisions
                break
            if decision.action == "again":
                prompts = ()
            elif turn.outcome == "completed" and inbox:
                # Queued after the last check of the run: deliver it now, not with the next prompt.
                prompts = () if inbox.steering else tuple(inbox.drain_follow_up())
            else:
                break
        await self._emit(AgentSettled(aborted=self._abort.requested))
        return decision

    async def _begin(self) -> None:
        decision = await decide(self._policies, Boundary(kind="prompt"), self._abort)
        await store_drafts(self._agent.conversation, decision.entries, self._emit)
        if decision.action != "stop":
            decision = await prepare(decision, self._abort)
        if decision.action == "stop":
            raise PromptRefused(decision.reason or "The prompt was rejected by a policy.")

    async def _settle(self, turn: Turn) -> Next:
        """Return the policies' decision after a run."""
        decision = turn.next
        if decision.opens_run:
            decision = await prepare(decision, self._abort)
            if decision.opens_run and not self._abort.requested:
                return decision
        boundary = Boundary(
            kind="settle",
            outcome="aborted" if self._abort.requested else turn.outcome,
            error=turn.response.error,
            answer=turn.response.message,
            # A stopped run stays stopped; its draft entries are already stored.
            next=replace(decision, entries=()) if decision.action == "stop" else Next(),
        )
        decision = await decide(self._policies, boundary, self._abort)
        try:
            await store_drafts(self._agent.conversation, decision.entries, self._emit)
        except Exception:
            log.exception("draft entries of policies could not be stored after the run")
        return decision if decision.action == "stop" else await prepare(decision, self._abort)
