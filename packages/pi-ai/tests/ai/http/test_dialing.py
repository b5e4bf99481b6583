from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pi.ai.http.tcp import open_socket


def resolve_to(*ports: int) -> None:
    """Make every name of the running loop resolve to these ports of the loopback."""

    async def resolved(host: str, port: int, **options: Any) -> Any:
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [(*kind, ("127.0.0.1", port)) for port in ports]

    asyncio.get_running_loop().getaddrinfo = resolved  # type: ignore[method-assign,assignment]


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def overrun() -> Iterator[int]:
    """A port where connecting takes for ever, as its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


async def test_a_literal_address_is_not_looked_up(listening: int) -> None:
    resolve_to()

    with await open_socket("127.0.0.1", listening) as connected:
        assert connected.getpeername() == ("127.0.0.1", listening)


async def test_the_next_address_is_tried_immediately_after_a_refused_connection(
    listening: int, closed_port: int
) -> None:
    resolve_to(closed_port, closed_port, listening)
    started = asyncio.get_running_loop().time()

    with await open_socket("some.example", 1) as connected:
        assert connected.getpeername()[1] == listening

    assert asyncio.get_running_loop().time() - started < 0.4  # not even twice the delay


async def test_the_next_address_is_tried_when_one_does_not_respond(
    listening: int, overrun: int
) -> None:
    resolve_to(overrun, listening)

    with await open_socket("some.example", 1) as connected:
        assert connected.getpeername()[1] == listening


async def test_when_all_addresses_refuse_the_reason_is_reported(closed_port: int) -> None:
    resolve_to(closed_port, closed_port)

    with pytest.raises(ConnectionRefusedError):
        await open_socket("some.example", 1)


async def test_cancelling_a_connection_attempt_leaves_no_socket(overrun: int) -> None:
    resolve_to(overrun, overrun)
    task = asyncio.create_task(open_socket("some.example", 1))
    await asyncio.wait([task], timeout=0.3)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
