"""A server that sends exactly the bytes of a test."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

OK_EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def ok(body: bytes, *headers: str) -> bytes:
    """A plain 200 response with Content-Length."""
    lines = ["HTTP/1.1 200 OK", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*pieces: bytes, headers: str = "") -> bytes:
    """A 200 response with one HTTP chunk per piece."""
    head = f"HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Return the raw next request with its body; raise IncompleteReadError at the end."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")),
            0,
        )
        return head + await self.reader.readexactly(length)

    async def send(self, *pieces: bytes) -> None:
        """Send pieces one by one, giving the client the time to read each."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        connected = self.writer.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def hang_up(self) -> None:
        """End the connection in good order."""
        self.writer.close()
        await self.writer.wait_closed()

    async def gone(self) -> None:
        """Wait until the client has closed its end."""
        while await self.reader.read(65536):
            pass


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    """Where the server listens and how many connections it has seen."""

    port: int
    scheme: str = "http"
    connections: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/"


@asynccontextmanager
async def raw_server(
    *scripts: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[RawServer]:
    """Run script n for connection n, the last one for all later connections."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        state.tasks.add(task)
        script = scripts[min(state.connections, len(scripts) - 1)]
        state.connections += 1
        try:
            await script(Peer(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the test has ended
        finally:
            writer.transport.abort()
            state.tasks.discard(task)

    listening = await asyncio.start_server(serve, host, 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    state = RawServer(port=port, scheme="https" if tls else "http")
    try:
        yield state
    finally:
        listening.close()
        for task in state.tasks:
            task.cancel()
        if state.tasks:
            await asyncio.wait(state.tasks)
        await listening.wait_closed()
        await asyncio.sleep(0)  # the aborted sockets are closed in the next step of the loop


def answering(*responses: bytes) -> Script:
    """A script that answers each request with the next response, then waits for the client."""

    async def script(peer: Peer) -> None:
        for response in responses:
            await peer.request()
            await peer.send(response)
        await peer.gone()

    return script


def splitting(*pieces: bytes) -> Script:
    """A script that answers one request in pieces and hangs up."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        await peer.hang_up()

    return script
