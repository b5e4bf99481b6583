"""No file descriptor is left open, however the requests ended."""

from __future__ import annotations

import asyncio
import gc
import ssl
import sys
from pathlib import Path

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest, Timeouts
from pi.ai.http.tls import TlsSettings
from tests.ai.http.raw_server import Peer, Script, answering, chunked, ok, raw_server, splitting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts through /proc")


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def resets(peer: Peer) -> None:
    await peer.request()
    peer.reset()


SCRIPTS: dict[str, Script] = {
    "good": answering(ok(b"x" * 100_000), ok(b"y")),
    "chunked": answering(chunked(b"a", b"b")),
    "closing": splitting(ok(b"x")),
    "torn": splitting(ok(b"whole")[:-1]),
    "mute": splitting(),
    "nonsense": splitting(b"nonsense\r\n\r\n"),
    "silent": answering(b""),
    "endless": answering(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + bytes(500_000)),
    "reset": resets,
}


async def ask(client: HttpClient, url: str, how: str) -> None:
    """One request that ends in one of many ways."""
    request = HttpRequest(method="POST", url=url, body=bytes(200_000))
    try:
        if how == "left early":
            async with client.stream(request):
                return
        task = asyncio.ensure_future(client.request(request))
        if how.startswith("cancelled after"):
            for _ in range(int(how.rpartition(" ")[2])):
                await asyncio.sleep(0)
            task.cancel()
        await task
    except (HttpError, asyncio.CancelledError):
        pass


@pytest.fixture(params=["http", "https"])
def server_side(
    request: pytest.FixtureRequest, server_tls: ssl.SSLContext
) -> ssl.SSLContext | None:
    return server_tls if request.param == "https" else None


@pytest.fixture
def client(authority_file: Path) -> HttpClient:
    tls = TlsSettings(extra_ca=str(authority_file))
    return HttpClient(environ={}, tls=tls, timeouts=Timeouts(connect=2, first_byte=0.05, idle=0.05))


async def test_no_socket_is_left_open_after_successful_failed_and_cancelled_requests(
    client: HttpClient, server_side: ssl.SSLContext | None
) -> None:
    ways = ["whole", "whole", "left early", *(f"cancelled after {n}" for n in range(12))]
    gc.collect()
    before = open_descriptors()

    for script in SCRIPTS.values():
        async with raw_server(script, tls=server_side) as server:
            await asyncio.gather(*(ask(client, server.url, how) for how in ways))
            await client.close()

    assert open_descriptors() == before


@pytest.mark.full
async def test_no_socket_is_left_when_connecting_is_cancelled_at_any_moment(
    client: HttpClient, server_side: ssl.SSLContext | None
) -> None:
    gc.collect()
    before = open_descriptors()

    async with raw_server(answering(b""), tls=server_side) as server:
        await ask(client, server.url, "whole")
        for steps in range(30):
            await ask(client, server.url, f"cancelled after {steps}")
    await client.close()

    assert open_descriptors() == before
