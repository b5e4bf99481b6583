"""Milliseconds per cached snapshot of an auth broker: ``snapshots broker|bare COUNT``.

``bare`` is the same server library with a fixed answer. Client and server share this process, so
the server alone is faster.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web

from pi.base.clock import SystemClock
from pi.base.server_guard import ServerGuard
from pi.batteries.auth_broker.refresher import Refresher
from pi.batteries.auth_broker.server import BrokerServer
from pi.batteries.auth_broker.store import BrokerStore
from pi.extension import OAuthCredential

LINES = (b"GET /v1/snapshot HTTP/1.1", b"Host: 127.0.0.1", b"Authorization: Bearer t", b"", b"")


async def renew(provider: str, credential: OAuthCredential) -> OAuthCredential:
    """Never called: the credentials are keys."""
    raise AssertionError


async def request_time(port: int, count: int) -> float:
    """The time of one request, over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for round in range(2):
        begin = time.perf_counter()
        for _ in range(count if round else 50):
            writer.write(b"\r\n".join(LINES))
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
        elapsed = time.perf_counter() - begin
    writer.close()
    return elapsed / count * 1000


async def broker(count: int) -> float:
    """A broker with ten accounts."""
    with TemporaryDirectory() as folder:
        clock, store = SystemClock(), BrokerStore(Path(folder))
        for number in range(10):
            await store.put("p", {"type": "api_key", "key": f"key-{number}"}, f"{number}")
        refresher = Refresher(store, renew, clock, print)
        guard = ServerGuard(token="t", host="127.0.0.1")
        server = BrokerServer(store, refresher, guard, clock, print)
        async with server.serving("127.0.0.1", 0) as port:
            return await request_time(port, count)


async def bare(count: int) -> float:
    """A server with a fixed answer of the same size."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 1700)

    app = web.Application()
    app.router.add_get("/v1/snapshot", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        return await request_time(runner.addresses[0][1], count)
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    print(asyncio.run((broker if sys.argv[1] == "broker" else bare)(int(sys.argv[2]))))
