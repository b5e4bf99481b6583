"""One exchange between a wire and a replay server, with all observations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.event_stream import EventStream
from pi.ai.events import StreamEvent, TextDelta
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Message
from pi.ai.request import Call, StreamOptions
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.wire.conformance import WIRES, call_of, model_of
from tests.ai.wire.grammar import check_events
from tests.ai.wire.replay_server import Replay, ReplayServer, Request, replaying

LIMIT = 20
"""Seconds after which an exchange on the loopback counts as hanging."""

Meanwhile = Callable[[ReplayServer, EventStream], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Outcome:
    """The result of an exchange."""

    events: tuple[StreamEvent, ...]
    message: AssistantMessage
    failure: ProviderError | None
    request: Request


async def exchange(
    api: str,
    replay: Replay,
    *,
    messages: tuple[Message, ...] | None = None,
    options: StreamOptions | None = None,
    sees_images: bool = True,
    meanwhile: Meanwhile | None = None,
    on_text: Callable[[EventStream], None] | None = None,
) -> Outcome:
    """Send the request, collect every event, and check that no task or connection is left open."""
    tasks = asyncio.all_tasks()
    async with asyncio.timeout(LIMIT), replaying(replay) as server:
        model = model_of(api, server.url, sees_images=sees_images)
        call = call_of(model, messages, options)
        async with HttpClient(environ={}) as client, aclosing(stream_of(call, client)) as stream:
            events: list[StreamEvent] = []
            async with asyncio.TaskGroup() as group:
                if meanwhile is not None:
                    group.create_task(meanwhile(server, stream))
                async for event in stream:
                    events.append(event)
                    if on_text is not None and isinstance(event, TextDelta):
                        on_text(stream)
            message, failure = await stream.result(), stream.failure
            assert stream.partial is message
            await (
                server.left.wait()
            )  # the client is still open: the stream itself has closed the connection
        request = server.requests[0]
    assert asyncio.all_tasks() == tasks
    assert check_events(events) == message
    return Outcome(tuple(events), message, failure, request)


def stream_of(call: Call, client: HttpClient) -> EventStream:
    """The stream of the wire that ``call``'s model speaks."""
    clock = FakeClock()
    services = Services(http=client, clock=clock, environ={})
    answer = WIRES[call.model.api].answer
    builder = MessageBuilder(call.model, now_ms=clock.now_ms())
    return EventStream(builder, lambda filled, flush: answer(call, filled, flush, services))
