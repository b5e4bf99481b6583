"""A real WebSocket server on the loopback, as a fake ChatGPT backend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers

from pi.ai.messages import Json

Script = Callable[["Side"], Awaitable[None]]


@dataclass
class Side:
    """The server's end of one connection."""

    socket: ServerConnection
    backend: Backend

    async def request(self) -> Json:
        """The next request."""
        request: Json = json.loads(await self.socket.recv())
        self.backend.requests.append((self.backend.connections.index(self.socket), request))
        return request

    async def send(self, *events: Json) -> None:
        """Send frames."""
        for event in events:
            await self.socket.send(json.dumps(event))


@dataclass
class Backend:
    """The requests the server received, each with the index of its connection."""

    server: Server
    connections: list[ServerConnection] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    requests: list[tuple[int, Json]] = field(default_factory=list)
    ended: list[asyncio.Event] = field(default_factory=list)

    @property
    def url(self) -> str:
        host, port = next(iter(self.server.sockets)).getsockname()[:2]
        return f"http://{host}:{port}"


def says(text: str, response: str) -> tuple[Json, ...]:
    """The frames of an answer that is one text."""
    item = {
        "type": "message",
        "id": f"msg_{response}",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return (
        {"type": "response.created", "response": {"id": response}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": text},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": response, "status": "completed"}},
    )


@asynccontextmanager
async def backend(*scripts: Script) -> AsyncIterator[Backend]:
    """Run script n for connection n, the last one for all later connections."""

    async def handle(socket: ServerConnection) -> None:
        number = len(state.connections)
        state.connections.append(socket)
        assert socket.request is not None
        state.headers.append(socket.request.headers)
        state.ended.append(asyncio.Event())
        try:
            await scripts[min(number, len(scripts) - 1)](Side(socket, state))
            await socket.wait_closed()
        finally:
            state.ended[number].set()

    async with serve(handle, "127.0.0.1", 0, close_timeout=0.2) as server:
        state = Backend(server)
        yield state
