"""Streams an answer to an agent with one listener and three policies: ``deltas DELTAS``."""

import asyncio
import sys

from bench.programs.agent.in_memory import MODEL, streaming, talkative
from pi.agent.agent import Agent
from pi.agent.events import AgentEvent, MessageUpdate
from pi.agent.policy import Boundary, Next, Partial, Policy, Request
from pi.ai.events import Delta


class Reminding(Policy):
    """Gets every request."""

    async def before_request(self, request: Request) -> Request:
        """Return it unchanged."""
        return request


class Watching(Policy):
    """Gets every delta."""

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Do nothing."""


class Deciding(Policy):
    """Gets every boundary."""

    async def at_boundary(self, at: Boundary) -> Next:
        """No opinion."""
        return at.next


async def main(deltas: int) -> None:
    """Read the answer and print the number of deltas."""
    count = 0

    def listen(event: AgentEvent) -> None:
        nonlocal count
        count += isinstance(event, MessageUpdate)

    agent = Agent(
        lambda model, context, options: streaming(talkative(deltas), model),
        model=MODEL,
        policies=(Reminding(), Watching(), Deciding()),
    )
    agent.subscribe(listen)
    await agent.prompt("Talk.")
    print(count)


asyncio.run(main(int(sys.argv[1])))
