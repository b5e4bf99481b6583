"""Several relay processes over a real NATS server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from bench.programs.relay_load import (
    Nats,
    RelayProcess,
    connect,
    load,
    move_to_relay,
    nats_server,
    open_rooms,
    room_name,
)
from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.relay.bind import Bind
from pi.relay.cluster import Cluster
from pi.relay.limits import Limits
from pi.relay.metrics import Metrics
from pi.relay.rooms import Rooms
from pi.relay.server import Relay, RelayOptions
from tests.relay.test_server import AGAIN, HOST, ROOM, closed, frame

needs_nats = pytest.mark.skipif(nats_server() is None, reason="needs nats-server")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def nats() -> Iterator[Nats]:
    program = nats_server()
    assert program is not None
    server = Nats(program, free_port())
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            break
    yield server
    server.stop()


@asynccontextmanager
async def cluster(
    nats: Nats, **limits: Any
) -> AsyncIterator[tuple[list[Relay], list[aiohttp.ClientSession]]]:
    options = RelayOptions(bind=Bind(host="127.0.0.1"), cluster=nats.url, limits=Limits(**limits))
    relays = [Relay(options, report=lambda line: None) for _ in range(2)]
    async with contextlib.AsyncExitStack() as stack:
        clients = []
        for relay in relays:
            await relay.start()
            stack.push_async_callback(relay.close)
        for relay in relays:
            clients.append(await stack.enter_async_context(aiohttp.ClientSession(relay.address)))
        yield relays, clients


@asynccontextmanager
async def hosted(client: aiohttp.ClientSession) -> AsyncIterator[Any]:
    """The host of a room that is open."""
    async with client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as host:
        assert await host.receive_json() == {"type": "room-open"}
        yield host


@needs_nats
@pytest.mark.full
async def test_a_guest_connected_to_another_process_is_in_the_room(nats: Nats) -> None:
    async with cluster(nats) as (_, (first, second)):
        async with second.ws_connect(f"/r/{ROOM}") as nowhere:
            assert await closed(nowhere) == 4004
        async with (
            hosted(first) as host,
            first.ws_connect(f"/r/{ROOM}") as near,
            second.ws_connect(f"/r/{ROOM}") as far,
        ):
            assert [(await host.receive_json())["peer"] for _ in range(2)] == [1, 2]
            for guest in (near, far):
                assert await guest.receive_json() == {"type": "host-joined"}
            big = frame(0, b"b" * 700_000)
            for sent in (frame(0), big, frame(2)):
                await host.send_bytes(sent)
            assert await near.receive_bytes() == frame(0)
            assert [await far.receive_bytes() for _ in range(3)] == [frame(0), big, frame(2)]
            await far.send_bytes(frame(9))
            assert await host.receive_bytes() == frame(2)
            await far.close()
            assert await host.receive_json() == {"type": "peer-left", "peer": 2}


async def joined(
    client: aiohttp.ClientSession, stack: contextlib.AsyncExitStack
) -> aiohttp.ClientWebSocketResponse:
    """A guest in the room. Like every guest it connects again while the room moves (1012)."""
    for _ in range(10):
        guest = await stack.enter_async_context(client.ws_connect(f"/r/{ROOM}"))
        message = await guest.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            assert message.json() == {"type": "host-joined"}
            return guest
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1012)
    raise AssertionError("the room did not come back")


@needs_nats
@pytest.mark.full
async def test_a_host_can_take_over_its_room_at_another_process(nats: Nats) -> None:
    async with (
        cluster(nats) as (_, (first, second)),
        hosted(first) as host,
        first.ws_connect(f"/r/{ROOM}") as near,
    ):
        await near.receive_json()
        async with second.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as thief:
            assert await closed(thief) == 4009
        async with second.ws_connect(f"/r/{ROOM}?role=host", headers=AGAIN) as again:
            assert (await again.receive_json())["type"] == "room-open"
            assert await closed(host) == 4009
            assert await closed(near) == 1012
            async with contextlib.AsyncExitStack() as stack:
                guest = await joined(first, stack)
                await again.send_bytes(frame(0))
                assert await guest.receive_bytes() == frame(0)


@needs_nats
@pytest.mark.full
async def test_lost_messages_are_reported_to_both_sides(nats: Nats) -> None:
    async with (
        cluster(nats) as (relays, (first, second)),
        hosted(first) as host,
        second.ws_connect(f"/r/{ROOM}") as far,
    ):
        await far.receive_json()
        owner = relays[0]._cluster
        for process in owner._last_sent:
            owner._last_sent[process] += 1  # as if one was lost
        await host.send_bytes(frame(0))
        assert await far.receive_json() == {"type": "gap"}
        assert await far.receive_bytes() == frame(0)
        await far.send_bytes(frame(0))
        assert (await host.receive_json())["type"] == "peer-joined"
        assert await host.receive_bytes() == frame(1)
        visitor = relays[1]._cluster
        for process in visitor._last_sent:
            visitor._last_sent[process] += 1
        await far.send_bytes(frame(0))
        assert await far.receive_json() == {"type": "gap"}


@needs_nats
@pytest.mark.full
async def test_guests_can_rejoin_after_nats_was_killed_and_restarted(nats: Nats) -> None:
    async with (
        cluster(nats) as (_relays, (first, second)),
        hosted(first) as host,
        first.ws_connect(f"/r/{ROOM}") as near,
        second.ws_connect(f"/r/{ROOM}") as far,
    ):
        await near.receive_json()
        await far.receive_json()
        nats.restart()
        assert await closed(far) == 1012
        await host.send_bytes(frame(0))
        assert await near.receive_bytes() == frame(0), "who is near does not notice"
        async with asyncio.timeout(30):
            while True:
                async with second.ws_connect(f"/r/{ROOM}") as again:
                    answer = await again.receive()
                    if answer.type is aiohttp.WSMsgType.TEXT:
                        break
                await asyncio.sleep(0.2)


class FakeNats:
    """Records the responses of a process for a room."""

    def __init__(self) -> None:
        self.ask: Any = None
        self.answers: list[bytes] = []

    async def subscribe(self, subject: str, cb: Any) -> None:
        self.ask = cb

    async def flush(self) -> None:
        pass

    async def publish(self, subject: str, data: bytes) -> None:
        pass

    async def respond(self, answer: bytes) -> None:
        self.answers.append(answer)


async def test_a_process_without_the_room_does_not_answer_requests_for_it() -> None:
    nats = FakeNats()
    rooms = Rooms(Limits(), Metrics(), time.monotonic)
    members = Cluster(rooms, TaskScope(), report=lambda line: None)
    members._client = nats  # type: ignore[assignment]
    await members.serve(ROOM)

    await nats.ask(SimpleNamespace(data=b"G" + bytes(16), respond=nats.respond))

    assert nats.answers == []  # the process that has the room now responds


async def test_without_nats_the_relay_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi.relay.cluster.CONNECT_SECONDS", 0.2)
    options = RelayOptions(bind=Bind(host="127.0.0.1"), cluster=f"nats://127.0.0.1:{free_port()}")
    relay = Relay(options, report=lambda line: None)
    with pytest.raises(PiError, match="NATS cannot be reached"):
        await relay.start()
    await relay.close()


@needs_nats
@pytest.mark.full
async def test_one_of_two_processes_is_killed_and_all_resume(nats: Nats) -> None:
    relays = [RelayProcess("0", "--cluster", nats.url) for _ in range(2)]
    try:
        latencies: list[float] = []
        rooms = await open_rooms([r.port for r in relays], 20, 4, latencies)
        relays[0].stop(signal.SIGKILL)
        again = await move_to_relay(rooms, relays[1].port)
        latencies.clear()
        await load(again, rate=400, seconds=2, size=600)
        assert len(latencies) > 700
    finally:
        for relay in relays:
            relay.stop()


@pytest.mark.full
@pytest.mark.timeout(1200)
async def test_memory_does_not_grow_during_ten_minutes_of_traffic() -> None:
    """Ten minutes of traffic, with guests that come and go: memory does not grow."""
    relay = RelayProcess()
    try:
        latencies: list[float] = []
        rooms = await open_rooms([relay.port], 50, 3, latencies)
        await load(rooms, rate=1000, seconds=20, size=600)
        began, (_, first) = time.monotonic(), relay.usage()
        sizes = []
        while time.monotonic() - began < 600:
            for number in range(10):
                path = f"/r/{room_name(number)}?role=guest"
                visitor = await connect(relay.port, path, "", [])
                visitor.transport.close()
            latencies.clear()
            await load(rooms, rate=1000, seconds=15, size=600)
            sizes.append(relay.usage()[1])
            assert latencies
        assert sizes[-1] < first * 1.1 + 2
    finally:
        relay.stop()
