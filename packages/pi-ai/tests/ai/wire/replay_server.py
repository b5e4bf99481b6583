"""A server on the loopback that sends recorded bytes, split and timed by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from tests.ai.http.raw_server import Peer, raw_server


@dataclass(frozen=True)
class Request:
    """What the client sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return msgspec.json.decode(self.body)


@dataclass(frozen=True)
class Replay:
    """One response: pieces that arrive one by one, and how the connection ends."""

    pieces: Sequence[bytes]
    then: Literal["close", "hold", "reset"] = "close"
    """``hold`` keeps the connection open until the client closes it."""
    gate: asyncio.Event | None = None
    """Event that the first byte waits for."""


@dataclass
class ReplayServer:
    """The URL of the server and its received requests."""

    url: str
    requests: list[Request] = field(default_factory=list)
    received: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request has arrived."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """The connection has ended; one that is held open by the client."""


@asynccontextmanager
async def replaying(replay: Replay) -> AsyncIterator[ReplayServer]:
    """A server that sends the same response to every request."""

    async def script(peer: Peer) -> None:
        server.requests.append(_parsed(await peer.request()))
        server.received.set()
        try:
            await _answer(peer, replay)
        finally:
            server.left.set()

    async with raw_server(script) as listening:
        server = ReplayServer(url=listening.url.rstrip("/"))
        yield server


async def _answer(peer: Peer, replay: Replay) -> None:
    if replay.gate is not None:
        await replay.gate.wait()
    for piece in replay.pieces:
        await _send(peer, piece)
    match replay.then:
        case "close":
            await peer.hang_up()
        case "reset":
            peer.reset()
        case "hold":
            await peer.gone()


async def _send(peer: Peer, piece: bytes) -> None:
    peer.writer.write(piece)
    await peer.writer.drain()
    # Two turns of the loop: in the first the client's socket becomes readable, in the second it is
    # read, so that no two pieces arrive as one.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _parsed(raw: bytes) -> Request:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in fields)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Request(method=method, target=target, headers=headers, body=body)
