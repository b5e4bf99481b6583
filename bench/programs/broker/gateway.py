"""A model through the gateway or without it: ``gateway through|direct PORT DELTAS ROUNDS``.

Prints the milliseconds to the first token, and the microseconds of CPU per delta of this process:
client, gateway and the decoding of the provider's answer together; ``direct`` is the latter alone.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import Message, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire import openai_completions
from pi.ai.wire_support.exchange import Services
from pi.base.clock import SystemClock
from pi.base.server_guard import ServerGuard
from pi.batteries.auth_gateway.server import GatewayServer

QUESTION = (UserMessage(content="hi"),)


class OneModel:
    """The model of the mock server."""

    def __init__(self, model: Model, http: HttpClient) -> None:
        self._model = model
        self._services = Services(http=http, clock=SystemClock(), environ={})

    def available(self) -> tuple[Model, ...]:
        """The model."""
        return (self._model,)

    def ask(
        self, question: tuple[Message, ...], *, model: Model, options: StreamOptions
    ) -> EventStream:
        """Send a request."""
        access = Access(api_key="k", kind="api_key")
        call = Call(model=model, messages=question, options=options, access=access)
        builder = MessageBuilder(model, now_ms=0)
        services = self._services
        return EventStream(
            builder, lambda filled, flush: openai_completions.answer(call, filled, flush, services)
        )


def model_of(port: int, deltas: int) -> Model:
    """A model that answers with so many deltas."""
    return Model(
        id=f"echo-{deltas}",
        name="echo",
        api="openai-completions",
        provider="mock",
        base_url=f"http://127.0.0.1:{port}/v1",
    )


async def direct(models: OneModel, model: Model) -> float:
    """The seconds to the first token without the gateway."""
    begin, first = time.perf_counter(), 0.0
    stream = models.ask(QUESTION, model=model, options=StreamOptions())
    while events := await stream.take():
        if not first and any("delta" in type(event).__name__.lower() for event in events):
            first = time.perf_counter() - begin
    return first


Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def through(connection: Connection, model: Model) -> float:
    """The seconds to the first token through the gateway, read as bytes."""
    body = json.dumps(
        {"model": model.id, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    ).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}"
    begin, first = time.perf_counter(), 0.0
    reader, writer = connection
    writer.write(head.encode() + b"\r\nAuthorization: Bearer t\r\n\r\n" + body)
    tail = b""
    while not tail.endswith(b"0\r\n\r\n"):
        data = await reader.read(65536)
        if not first and (b'"content":"' in data.replace(b'"content":""', b"")):
            first = time.perf_counter() - begin
        tail = (tail + data)[-16:]
    return first


@asynccontextmanager
async def gateway(models: OneModel) -> AsyncIterator[int]:
    """A gateway that serves the models; yields its port."""
    guard = ServerGuard(token="t", host="127.0.0.1")
    async with GatewayServer(models, guard, SystemClock(), print).serving("127.0.0.1", 0) as port:
        yield port


async def measured(kind: str, port: int, deltas: int, rounds: int) -> tuple[float, float]:
    """Milliseconds to the first token and microseconds of CPU per delta."""
    model = model_of(port, deltas)
    async with HttpClient(environ={}) as http:
        models = OneModel(model, http)
        async with gateway(models) as own:
            firsts: list[float] = []
            connection = await asyncio.open_connection("127.0.0.1", own)
            for round in range(rounds + 2):
                if round == 2:  # caches and imports are warm
                    firsts.clear()
                    begin = time.process_time()
                work = through(connection, model) if kind == "through" else direct(models, model)
                firsts.append(await work)
            used = time.process_time() - begin
            connection[1].close()
    return statistics.median(firsts) * 1000, used / rounds / deltas * 1e6


if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    print(*asyncio.run(measured(kind, *map(int, numbers))))
