"""A gateway on the loopback whose models are recordings, one for each wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import Message
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.base.records import replace
from pi.base.server_guard import ServerGuard
from pi.batteries.auth_gateway.server import GatewayServer
from pi.testing import FakeClock
from tests.ai.wire.conformance import model_of, recording
from tests.ai.wire.exchanges import stream_of
from tests.ai.wire.replay_server import Replay, ReplayServer, replaying

TOKEN = "gateway-token-0123456789"


@dataclass
class Recorded:
    """Implements ``ModelSource`` with one model."""

    model: Model
    client: HttpClient
    asked: list[Call] = field(default_factory=list)

    def available(self) -> tuple[Model, ...]:
        return (self.model,)

    def ask(
        self, question: tuple[Message, ...], *, model: Model, options: StreamOptions
    ) -> EventStream:
        access = Access(api_key="KEY", kind="api_key")
        call = Call(model=model, messages=question, options=options, access=access)
        self.asked.append(call)
        return stream_of(call, self.client)


@dataclass
class Gateway:
    """A running gateway."""

    url: str
    models: Recorded
    upstream: ReplayServer
    reports: list[str]


@asynccontextmanager
async def running_gateway(
    api: str, case: str = "", replay: Replay | None = None, token: str = TOKEN
) -> AsyncIterator[Gateway]:
    """Serve one recording as the model ``m`` until the block is left."""
    replay = replay or Replay([recording(api, case)])
    async with replaying(replay) as upstream, HttpClient(environ={}) as client:
        model = replace(model_of(api, upstream.url), id="m", provider="p")
        models, reports = Recorded(model, client), list[str]()
        guard = ServerGuard(token=token, host="127.0.0.1")
        server = GatewayServer(
            models, guard, FakeClock(), reports.append, lambda provider: f"vault of {provider}"
        )
        async with server.serving("127.0.0.1", 0) as port:
            yield Gateway(f"http://127.0.0.1:{port}", models, upstream, reports)
