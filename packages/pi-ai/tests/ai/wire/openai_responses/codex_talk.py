"""Conversations with a fake ChatGPT backend, a real server on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Json, Message
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.openai_responses import answer
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.websocket_server import Backend, Script, Side, backend


@dataclass
class Talk:
    """A conversation over one set of services."""

    model: Model
    services: Services
    clock: FakeClock
    account: str = "acct"

    def stream(self, *messages: Message, **options: object) -> EventStream:
        chosen = {"session_id": "SESSION", "transport": "auto", **options}
        call = Call(
            model=self.model,
            messages=messages,
            options=StreamOptions(**chosen),  # type: ignore[arg-type]
            access=Access(api_key="KEY", env={"accountId": self.account}),
        )
        return EventStream(
            MessageBuilder(self.model, now_ms=self.clock.now_ms()),
            lambda builder, flush: answer(call, builder, flush, self.services),
        )

    async def ask(self, *messages: Message, **options: object) -> AssistantMessage:
        async with asyncio.timeout(30):
            return await self.stream(*messages, **options).result()


@asynccontextmanager
async def talking(url: str, environ: Mapping[str, str] | None = None) -> AsyncIterator[Talk]:
    clock = FakeClock()
    model = talk.model(api="openai-codex-responses", base_url=url)
    services = Services(http=HttpClient(environ={}), clock=clock, environ=environ or {})
    try:
        yield Talk(model, services, clock)
    finally:
        await services.close()


@asynccontextmanager
async def connected(*scripts: Script) -> AsyncIterator[tuple[Backend, Talk]]:
    async with backend(*scripts) as server, talking(server.url) as led:
        yield server, led


def replying(*answers: tuple[Json, ...]) -> Script:
    """Answers each request with the next frames."""

    async def script(side: Side) -> None:
        for frames in answers:
            await side.request()
            await side.send(*frames)

    return script


def sent(server: Backend) -> list[tuple[int, str | None, list[str]]]:
    """For every request: its connection, the previous response id and the kinds of its items."""
    return [
        (
            connection,
            request.get("previous_response_id"),
            [item.get("role") or item["type"] for item in request["input"]],
        )
        for connection, request in server.requests
    ]
