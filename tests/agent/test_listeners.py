from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pi.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentStart,
    EventDispatcher,
    MessageUpdate,
    QueueUpdate,
    TurnStart,
)
from pi.ai.events import TextDelta
from pi.ai.messages import Usage
from tests.agent.agents import short

Heard = list[tuple[str, str]]


def hearing(name: str, heard: Heard) -> Callable[[AgentEvent], None]:
    def listen(event: AgentEvent) -> None:
        heard.append((name, short(event)))

    return listen


async def test_sync_and_async_listeners_hear_in_the_order_in_which_they_came() -> None:
    heard: Heard = []
    listeners = EventDispatcher()

    async def slow(event: AgentEvent) -> None:
        await asyncio.sleep(0)
        heard.append(("slow", short(event)))

    listeners.add(slow)
    listeners.add(hearing("quick", heard))

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert heard == [
        ("slow", "agent_start"),
        ("quick", "agent_start"),
        ("slow", "turn_start"),
        ("quick", "turn_start"),
    ]


async def test_a_listener_that_raises_is_reported_and_the_others_hear_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: Heard = []
    listeners = EventDispatcher()

    def raises(event: AgentEvent) -> None:
        raise KeyError("sync")

    async def raises_later(event: AgentEvent) -> None:
        raise KeyError("async")

    for listener in (raises, raises_later, hearing("last", heard)):
        listeners.add(listener)

    await listeners.emit(AgentStart())

    assert heard == [("last", "agent_start")]
    assert caplog.text.count("a listener failed during AgentStart") == 2


async def test_a_listener_may_end_itself_and_others_while_an_event_is_delivered() -> None:
    heard: Heard = []
    listeners = EventDispatcher()
    ends: dict[str, Callable[[], None]] = {}

    def leaves(event: AgentEvent) -> None:
        heard.append(("leaves", short(event)))
        ends["self"]()
        ends["self"]()
        ends["other"]()

    ends["self"] = listeners.add(leaves)
    ends["other"] = listeners.add(hearing("other", heard))
    listeners.add(hearing("stays", heard))

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert heard == [
        ("leaves", "agent_start"),
        ("stays", "agent_start"),
        ("stays", "turn_start"),
    ]


async def test_a_listener_that_comes_while_an_event_is_delivered_hears_the_next_one() -> None:
    heard: Heard = []
    listeners = EventDispatcher()

    def invites(event: AgentEvent) -> None:
        end()
        listeners.add(hearing("late", heard))

    end = listeners.add(invites)

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert heard == [("late", "turn_start")]


async def test_one_function_may_listen_twice_and_leave_once() -> None:
    heard: Heard = []
    listeners = EventDispatcher()
    listen = hearing("one", heard)
    listeners.add(listen)
    end = listeners.add(listen)
    end()

    await listeners.emit(AgentStart())

    assert heard == [("one", "agent_start")]


async def test_what_a_listener_emits_comes_after_the_event_that_it_hears() -> None:
    heard: Heard = []
    listeners = EventDispatcher()

    async def interferes(event: AgentEvent) -> None:
        heard.append(("first", short(event)))
        if isinstance(event, AgentStart):
            await asyncio.wait_for(listeners.emit_after_current(QueueUpdate()), 1)

    listeners.add(interferes)
    listeners.add(hearing("second", heard))

    await listeners.emit(AgentStart())

    assert heard == [
        ("first", "agent_start"),
        ("second", "agent_start"),
        ("first", "queue_update"),
        ("second", "queue_update"),
    ]


async def test_outside_of_an_event_it_is_emitted_at_once() -> None:
    heard: Heard = []
    listeners = EventDispatcher()
    listeners.add(hearing("one", heard))

    await listeners.emit_after_current(QueueUpdate())

    assert heard == [("one", "queue_update")]


async def test_a_listener_whose_own_work_is_cancelled_does_not_cancel_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: Heard = []
    listeners = EventDispatcher()
    cancelled = asyncio.get_running_loop().create_future()
    cancelled.cancel()

    async def waits(event: AgentEvent) -> None:
        await cancelled

    listeners.add(waits)
    listeners.add(hearing("next", heard))

    await listeners.emit(AgentStart())

    assert heard == [("next", "agent_start")]
    assert "a listener was cancelled during AgentStart" in caplog.text


async def test_cancelling_the_emitter_passes_through_the_listener() -> None:
    listeners = EventDispatcher()
    heard: Heard = []

    async def waits(event: AgentEvent) -> None:
        if isinstance(event, AgentStart):
            await asyncio.Event().wait()

    listeners.add(waits)
    listeners.add(hearing("next", heard))
    emitting = asyncio.create_task(listeners.emit(AgentStart()))
    await asyncio.sleep(0)
    emitting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await emitting
    await listeners.emit(AgentEnd(messages=()))

    assert heard == [("next", "agent_end")]


async def test_who_does_not_want_updates_is_spared_them_and_hears_the_rest_in_its_turn() -> None:
    heard: Heard = []
    listeners = EventDispatcher()
    end = listeners.add(hearing("log", heard), kinds=(TurnStart, AgentStart))
    listeners.add(hearing("screen", heard))
    delta = TextDelta(content_index=0, delta="word")

    await listeners.emit(MessageUpdate(usage=Usage(), assistant_message_event=delta))
    await listeners.emit(TurnStart())
    end()
    await listeners.emit(AgentStart())

    assert heard == [
        ("screen", "message_update"),
        ("log", "turn_start"),
        ("screen", "turn_start"),
        ("screen", "agent_start"),
    ]
