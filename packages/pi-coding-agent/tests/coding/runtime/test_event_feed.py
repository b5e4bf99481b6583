"""Events as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from pi.agent.events import MessageUpdate, ToolExecutionStart
from pi.ai.events import TextDelta
from pi.coding.port.results import NoModel
from pi.coding.runtime.session.events import EventFeed
from pi.coding.runtime.session.public_events import AgentSessionEvent
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_stream_yields_the_events_of_a_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one two three"))
    session = await fixture.open()
    deltas = [
        event.assistant_message_event.delta
        async for event in session.stream("count")
        if isinstance(event, MessageUpdate) and isinstance(event.assistant_message_event, TextDelta)
    ]
    await session.close()

    assert deltas == ["one ", "two ", "three"]


async def test_every_subscriber_gets_every_event_in_order(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("ls"), says("done"))
    session = await fixture.open()
    one, other = session.events(), session.events()
    await session.prompt("go")
    await session.set_thinking_level("high")
    await session.close()
    seen = [event async for event in one]

    assert seen == [event async for event in other] == fixture.events
    assert all(isinstance(event, get_args(AgentSessionEvent)) for event in seen)
    assert msgspec.to_builtins(seen[-1])["type"] == "thinking_level_changed"
    assert [event async for event in one] == []


async def test_leaving_the_loop_ends_the_run(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"), says("never"))
    session = await fixture.open()
    async with aclosing(session.stream("go")) as events:
        async for event in events:
            if isinstance(event, ToolExecutionStart):
                break

    assert not session.state.is_streaming
    assert len(fixture.provider.requests) == 1
    await session.close()


async def test_a_refused_prompt_raises_while_its_events_are_iterated(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(model=None)
    with pytest.raises(NoModel):
        async for _ in session.stream("hi"):
            pass
    await session.close()


async def test_a_dropped_feed_receives_no_events() -> None:
    listeners: list[object] = []

    def subscribe(listener: object) -> Callable[[], None]:
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    feed = EventFeed(subscribe)
    assert len(listeners) == 1
    del feed

    assert listeners == []


async def test_a_closed_session_emits_no_events(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path).open()
    await session.close()

    assert [event async for event in session.events()] == []


async def test_waiting_for_an_event_ends_with_the_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    feed = session.events()
    waiting = asyncio.ensure_future(anext(feed, None))
    await asyncio.sleep(0)
    await session.close()

    assert await waiting is None
