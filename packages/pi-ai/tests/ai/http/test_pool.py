from __future__ import annotations

import asyncio

from pi.ai.http.client import MAX_RESTING_PER_ROUTE, HttpClient
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import Peer, ok, raw_server


async def test_the_number_of_idle_connections_to_one_server_is_limited(client: HttpClient) -> None:
    many = MAX_RESTING_PER_ROUTE + 3
    started, gone = 0, 0
    all_open, enough = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        nonlocal started, gone
        await peer.request()
        started += 1
        if started == many:
            all_open.set()
        await all_open.wait()
        await peer.send(ok(b"x"))
        await peer.gone()
        gone += 1
        if gone == 3:
            enough.set()

    async with raw_server(script) as server:
        await asyncio.gather(*(client.request(HttpRequest(url=server.url)) for _ in range(many)))
        await asyncio.wait_for(enough.wait(), 30)
        assert gone == 3


async def test_an_idle_connection_closed_by_the_server_is_removed_from_the_pool(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"x"))
        await peer.hang_up()

    async with raw_server(script) as server:
        for _ in range(3):
            await client.request(HttpRequest(url=server.url))
            await asyncio.sleep(0.01)  # the connection is closed after the response

    assert server.connections == 3
