from __future__ import annotations

import asyncio

import pytest

from pi.agent.events import AgentEvent, AgentStart, TurnStart
from pi.agent.tool_calls import EventQueue
from tests.agent.agents import short, tasks_left


class Told:
    def __init__(self) -> None:
        self.events: list[str] = []

    async def __call__(self, event: AgentEvent) -> None:
        await asyncio.sleep(0)
        self.events.append(short(event))


async def test_events_are_told_one_after_another_in_the_order_in_which_they_were_put() -> None:
    told = Told()
    queue = EventQueue(told)

    async with queue:
        queue.put(AgentStart())
        queue.put(TurnStart())
        assert told.events == []
        await queue.drain()
        assert told.events == ["agent_start", "turn_start"]

    assert await tasks_left() == set()


async def test_leaving_waits_until_everything_was_told() -> None:
    told = Told()
    queue = EventQueue(told)

    async with queue:
        queue.put(AgentStart())

    assert told.events == ["agent_start"]


async def test_nothing_is_told_any_more_after_leaving() -> None:
    told = Told()
    queue = EventQueue(told)

    async with queue:
        pass
    queue.put(AgentStart())

    assert await tasks_left() == set()
    assert told.events == []


async def test_leaving_because_of_a_failure_waits_for_nobody() -> None:
    async def never(event: AgentEvent) -> None:
        await asyncio.Event().wait()

    queue = EventQueue(never)

    with pytest.raises(KeyError):
        async with queue:
            queue.put(AgentStart())
            raise KeyError("bug")

    assert await tasks_left() == set()
