from __future__ import annotations

import asyncio

from pi.ai.http.client import MAX_RESTING_PER_ROUTE, HttpClient
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import Peer, ok, raw_server


async def test_only_so_many_connections_rest_for_one_server(client: HttpClient) -> None:
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


async def test_a_server_that_closes_while_nothing_is_asked_is_forgotten(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"x"))
        await peer.hang_up()

    async with raw_server(script) as server:
        for _ in range(3):
            await client.request(HttpRequest(url=server.url))
            await asyncio.sleep(0.01)  # the good-bye comes after the answer

    assert server.connections == 3
