"""From a prompt to idle: one run, those that a policy adds, and the boundaries around them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pi.agent.conversation import AgentMessage
from pi.agent.deciding import decide, prepare
from pi.agent.errors import PromptRefused
from pi.agent.events import AgentSettled
from pi.agent.loop import Loop, Turn
from pi.agent.policy import Boundary, Next
from pi.agent.world import World
from pi.base.records import replace

log = logging.getLogger(__name__)


class Runs:
    """Everything that one prompt sets off."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def run(self, prompts: Sequence[AgentMessage]) -> Next:
        """Answer ``prompts`` until the agent is idle; gives what the last boundary decided."""
        world = self._world
        await self._begin()
        while True:
            turn = await Loop(world).run(prompts)
            ended = await self._ended(turn)
            if ended.action == "stop" or world.abort.wanted:  # whatever anybody else wants
                break
            if ended.action == "again":
                prompts = ()
            elif turn.outcome == "completed" and world.inbox:
                # Queued too late for the run that has ended: it must not lie there.
                prompts = () if world.inbox.steering else tuple(world.inbox.drain_follow_up())
            else:
                break
        await world.emit(AgentSettled())
        return ended

    async def _begin(self) -> None:
        world = self._world
        first = await decide(world.policies, Boundary(kind="prompt"), world.abort)
        await world.add(first.entries)
        if first.action != "stop":
            first = await prepare(first, world.abort)
        if first.action == "stop":
            raise PromptRefused(first.reason or "A policy does not want this prompt.")

    async def _ended(self, turn: Turn) -> Next:
        """What somebody wants now that a run has ended."""
        world, wanted = self._world, turn.next
        if wanted.opens_run:
            wanted = await prepare(wanted, world.abort)
            if wanted.opens_run and not world.abort.wanted:
                return wanted
        at = Boundary(
            kind="settle",
            outcome="aborted" if world.abort.wanted else turn.outcome,
            error=turn.answered.error,
            answer=turn.answered.message,
            # A run that was stopped stays stopped; what it drafted is in the log already.
            next=replace(wanted, entries=()) if wanted.action == "stop" else Next(),
        )
        wanted = await decide(world.policies, at, world.abort)
        try:
            await world.add(wanted.entries)
        except Exception:
            log.exception("what policies drafted at the end could not be kept")
        return wanted if wanted.action == "stop" else await prepare(wanted, world.abort)
