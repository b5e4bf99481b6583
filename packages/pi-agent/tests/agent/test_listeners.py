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

Received = list[tuple[str, str]]


def recorder(name: str, received: Received) -> Callable[[AgentEvent], None]:
    def listen(event: AgentEvent) -> None:
        received.append((name, short(event)))

    return listen


async def test_sync_and_async_listeners_are_called_in_the_order_of_subscription() -> None:
    received: Received = []
    listeners = EventDispatcher()

    async def slow(event: AgentEvent) -> None:
        await asyncio.sleep(0)
        received.append(("slow", short(event)))

    listeners.add(slow)
    listeners.add(recorder("quick", received))

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert received == [
        ("slow", "agent_start"),
        ("quick", "agent_start"),
        ("slow", "turn_start"),
        ("quick", "turn_start"),
    ]


async def test_a_listener_that_raises_is_logged_and_the_other_listeners_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    received: Received = []
    listeners = EventDispatcher()

    def raises(event: AgentEvent) -> None:
        raise KeyError("sync")

    async def raises_later(event: AgentEvent) -> None:
        raise KeyError("async")

    for listener in (raises, raises_later, recorder("last", received)):
        listeners.add(listener)

    await listeners.emit(AgentStart())

    assert received == [("last", "agent_start")]
    assert caplog.text.count("a listener failed during AgentStart") == 2


async def test_listeners_can_be_unsubscribed_while_an_event_is_delivered() -> None:
    received: Received = []
    listeners = EventDispatcher()
    ends: dict[str, Callable[[], None]] = {}

    def leaves(event: AgentEvent) -> None:
        received.append(("leaves", short(event)))
        ends["self"]()
        ends["self"]()
        ends["other"]()

    ends["self"] = listeners.add(leaves)
    ends["other"] = listeners.add(recorder("other", received))
    listeners.add(recorder("stays", received))

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert received == [
        ("leaves", "agent_start"),
        ("stays", "agent_start"),
        ("stays", "turn_start"),
    ]


async def test_a_listener_added_while_an_event_is_delivered_gets_the_next_event() -> None:
    received: Received = []
    listeners = EventDispatcher()

    def invites(event: AgentEvent) -> None:
        end()
        listeners.add(recorder("late", received))

    end = listeners.add(invites)

    await listeners.emit(AgentStart())
    await listeners.emit(TurnStart())

    assert received == [("late", "turn_start")]


async def test_a_function_subscribed_twice_can_be_unsubscribed_once() -> None:
    received: Received = []
    listeners = EventDispatcher()
    listen = recorder("one", received)
    listeners.add(listen)
    end = listeners.add(listen)
    end()

    await listeners.emit(AgentStart())

    assert received == [("one", "agent_start")]


async def test_an_event_emitted_by_a_listener_is_delivered_after_the_current_event() -> None:
    received: Received = []
    listeners = EventDispatcher()

    async def interferes(event: AgentEvent) -> None:
        received.append(("first", short(event)))
        if isinstance(event, AgentStart):
            await asyncio.wait_for(listeners.emit_after_current(QueueUpdate()), 1)

    listeners.add(interferes)
    listeners.add(recorder("second", received))

    await listeners.emit(AgentStart())

    assert received == [
        ("first", "agent_start"),
        ("second", "agent_start"),
        ("first", "queue_update"),
        ("second", "queue_update"),
    ]


async def test_emit_after_current_delivers_at_once_without_a_current_event() -> None:
    received: Received = []
    listeners = EventDispatcher()
    listeners.add(recorder("one", received))

    await listeners.emit_after_current(QueueUpdate())

    assert received == [("one", "queue_update")]


async def test_a_listener_whose_own_work_is_cancelled_does_not_cancel_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    received: Received = []
    listeners = EventDispatcher()
    cancelled = asyncio.get_running_loop().create_future()
    cancelled.cancel()

    async def waits(event: AgentEvent) -> None:
        await cancelled

    listeners.add(waits)
    listeners.add(recorder("next", received))

    await listeners.emit(AgentStart())

    assert received == [("next", "agent_start")]
    assert "a listener was cancelled during AgentStart" in caplog.text


async def test_cancelling_the_emitter_cancels_the_listener() -> None:
    listeners = EventDispatcher()
    received: Received = []

    async def waits(event: AgentEvent) -> None:
        if isinstance(event, AgentStart):
            await asyncio.Event().wait()

    listeners.add(waits)
    listeners.add(recorder("next", received))
    emitting = asyncio.create_task(listeners.emit(AgentStart()))
    await asyncio.sleep(0)
    emitting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await emitting
    await listeners.emit(AgentEnd(messages=()))

    assert received == [("next", "agent_end")]


async def test_a_listener_for_some_kinds_gets_only_these_events_in_order() -> None:
    received: Received = []
    listeners = EventDispatcher()
    end = listeners.add(recorder("log", received), kinds=(TurnStart, AgentStart))
    listeners.add(recorder("screen", received))
    delta = TextDelta(content_index=0, delta="word")

    await listeners.emit(MessageUpdate(usage=Usage(), assistant_message_event=delta))
    await listeners.emit(TurnStart())
    end()
    await listeners.emit(AgentStart())

    assert received == [
        ("screen", "message_update"),
        ("log", "turn_start"),
        ("screen", "turn_start"),
        ("screen", "agent_start"),
    ]
