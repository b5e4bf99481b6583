from __future__ import annotations

import asyncio

import pytest

from pi.agent.events import AgentEvent, AgentStart, TurnStart
from pi.agent.tool_calls import EventQueue
from tests.agent.agents import short, tasks_left


class Recorder:
    def __init__(self) -> None:
        self.events: list[str] = []

    async def __call__(self, event: AgentEvent) -> None:
        await asyncio.sleep(0)
        self.events.append(short(event))


async def test_events_are_emitted_one_after_another_in_the_order_in_which_they_were_put() -> None:
    emitted = Recorder()
    queue = EventQueue(emitted)

    async with queue:
        queue.put(AgentStart())
        queue.put(TurnStart())
        assert emitted.events == []
        await queue.drain()
        assert emitted.events == ["agent_start", "turn_start"]

    assert await tasks_left() == set()


async def test_leaving_the_queue_waits_until_every_event_is_emitted() -> None:
    emitted = Recorder()
    queue = EventQueue(emitted)

    async with queue:
        queue.put(AgentStart())

    assert emitted.events == ["agent_start"]


async def test_no_event_is_emitted_after_leaving_the_queue() -> None:
    emitted = Recorder()
    queue = EventQueue(emitted)

    async with queue:
        pass
    queue.put(AgentStart())

    assert await tasks_left() == set()
    assert emitted.events == []


async def test_leaving_because_of_a_failure_does_not_wait() -> None:
    async def never(event: AgentEvent) -> None:
        await asyncio.Event().wait()

    queue = EventQueue(never)

    with pytest.raises(KeyError):
        async with queue:
            queue.put(AgentStart())
            raise KeyError("bug")

    assert await tasks_left() == set()
