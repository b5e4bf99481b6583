"""Load on the relay, with guests on raw sockets: ``python -m bench.programs.relay_load --help``.

Hosts and guests run in this process, as protocols that only read the length of WebSocket frames, so
that the relay is measured and not the clients. A frame has the time at which it was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import gc
import hashlib
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from scripts.workspace import ROOT

NATS_PLACES = (ROOT / ".oracles" / "python" / "bin", ROOT / ".oracles" / "bin")
STAMP = struct.Struct(">d")
HEAD = 4 + 1 + 1 + 16 + 8 + 12
PAUSE = 0.002
SECRET = b"s" * 32
HASH = base64.urlsafe_b64encode(hashlib.sha256(SECRET).digest()).decode().rstrip("=")


def message(payload: bytes, opcode: int = 2) -> bytes:
    """A masked WebSocket message; the mask is zero, which changes nothing."""
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | opcode, 0x80 | size))
    elif size < 65536:
        head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


class Client(asyncio.Protocol):
    """A WebSocket client that counts frames and measures their latency."""

    def __init__(self, path: str, headers: str, latencies: list[float]) -> None:
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            f"{headers}\r\n"
        )
        self.latencies = latencies
        self._data = b""
        self._upgraded = False
        self.transport: Any = None
        self.ready = asyncio.get_running_loop().create_future()
        self.lost = asyncio.Event()
        self.received = 0
        self.code = 0
        self.last_at = 0.0

    def connection_made(self, transport: Any) -> None:
        """Request the upgrade."""
        self.transport = transport
        transport.write(self._request.encode())

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self.lost.set()
        if not self.ready.done():
            self.ready.set_exception(ConnectionError("refused"))

    def data_received(self, data: bytes) -> None:
        """Read all complete frames."""
        self._data = self._data + data if self._data else data
        if not self._upgraded:
            _head, found, rest = self._data.partition(b"\r\n\r\n")
            if not found:
                return
            self._upgraded, self._data = True, rest
        while self._read_frame():
            pass

    def _read_frame(self) -> bool:
        data = self._data
        if len(data) < 2:
            return False
        size, start = data[1] & 127, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(data) < 2 + width:
                return False
            size, start = int.from_bytes(data[2 : 2 + width], "big"), 2 + width
        if len(data) < start + size:
            return False
        opcode, payload = data[0] & 15, data[start : start + size]
        self._data = data[start + size :]
        if opcode == 2:
            self.received += 1
            self.last_at = time.perf_counter()
            self.latencies.append(self.last_at - STAMP.unpack_from(payload, HEAD)[0])
        elif opcode == 9:
            self.transport.write(message(payload, 10))
        elif opcode == 8:
            self.code = int.from_bytes(payload[:2], "big")
            self.transport.close()
        elif not self.ready.done():
            self.ready.set_result(None)
        return True

    def broadcast(self, size: int) -> None:
        """Send a frame of that size to all guests."""
        stamp = STAMP.pack(time.perf_counter())
        self.transport.write(message(bytes(HEAD) + stamp + bytes(size - HEAD - len(stamp))))


class RelayProcess:
    """A relay in a process of its own."""

    def __init__(self, bind: str = "0", *more: str, log: IO[bytes] | None = None) -> None:
        words = [sys.executable, "-m", "pi", "relay", "serve", "--max-connections", "100000", *more]
        environ = {**os.environ, "RELAY_BIND": bind}
        self.process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        self.port = int(line.rpartition(":")[2])

    def usage(self) -> tuple[float, float]:
        """CPU seconds and resident MB."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        memory = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return ticks / os.sysconf("SC_CLK_TCK"), int(memory[1]) * resource.getpagesize() / 2**20

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        self.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def nats_server() -> str | None:
    """The program nats-server, of the oracles or of the system."""
    places = os.pathsep.join([*map(str, NATS_PLACES), os.environ.get("PATH", "")])
    return shutil.which("nats-server", path=places)


class Nats:
    """A NATS server on a free port."""

    def __init__(self, program: str, port: int) -> None:
        self.port = port
        self.url = f"nats://127.0.0.1:{port}"
        self._words = [program, "-a", "127.0.0.1", "-p", str(port)]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def restart(self) -> None:
        """Kill it and start it again."""
        self.stop()
        self.process = self._start()

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


def room_name(number: int) -> str:
    """An id of a room."""
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


async def connect(port: int, path: str, headers: str, latencies: list[float]) -> Client:
    """A client that the relay has accepted."""
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(
        lambda: Client(path, headers, latencies), "127.0.0.1", port
    )
    await client.ready
    return client


async def insist(port: int, path: str, headers: str, latencies: list[float]) -> Client:
    """A client that the relay has accepted; tries again, as clients do, if it was refused."""
    while True:
        try:
            return await connect(port, path, headers, latencies)
        except ConnectionError:
            await asyncio.sleep(0.2)


async def open_rooms(
    ports: list[int], rooms: int, guests: int, latencies: list[float]
) -> list[tuple[Client, list[Client]]]:
    """Rooms with their hosts at the first relay and guests at all of them in turn."""
    found = []
    header = f"Pi-Takeover-Hash: {HASH}\r\n"
    for number in range(rooms):
        path = f"/r/{room_name(number)}?role="
        host = await connect(ports[0], path + "host", header, [])
        inside = [
            insist(ports[(number + n) % len(ports)], path + "guest", "", latencies)
            for n in range(guests)
        ]
        found.append((host, list(await asyncio.gather(*inside))))
    return found


def percentile(values: list[float], part: float) -> float:
    """A percentile in milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else 0.0


async def load(
    rooms: list[tuple[Client, list[Client]]], *, rate: float, seconds: float, size: int
) -> list[float]:
    """Broadcast in all rooms in turn, so that ``rate`` deliveries a second are due.

    Returns by how much each sleep of this process was too long: a busy machine adds that delay to
    every latency, and no relay can avoid it.
    """
    gc.collect()
    gc.disable()  # the clients have thousands of objects: their collection is not the relay's
    late: list[float] = []
    guests = len(rooms[0][1])
    pause, began, sent = guests / rate, time.perf_counter(), 0
    while (now := time.perf_counter()) - began < seconds:
        due = int((now - began) / pause)
        for number in range(sent, due):
            rooms[number * 7919 % len(rooms)][0].broadcast(size)
        sent = due
        slept = time.perf_counter()
        await asyncio.sleep(PAUSE)
        late.append(time.perf_counter() - slept - PAUSE)
    await asyncio.sleep(0.5)
    gc.enable()
    return late


async def move_to_relay(
    rooms: list[tuple[Client, list[Client]]], port: int
) -> list[tuple[Client, list[Client]]]:
    """Wait until all have lost their connection, and connect them to another relay."""
    await asyncio.gather(*(guest.lost.wait() for _, guests in rooms for guest in guests))

    async def one(number: int) -> tuple[Client, list[Client]]:
        host, guests = rooms[number]
        path = f"/r/{room_name(number)}?role="
        header = f"Pi-Takeover-Hash: {HASH}\r\n"
        again = await insist(port, path + "host", header, host.latencies)
        inside = (insist(port, path + "guest", "", guest.latencies) for guest in guests)
        return again, list(await asyncio.gather(*inside))

    return list(await asyncio.gather(*map(one, range(len(rooms)))))


class Load(NamedTuple):
    """A load profile."""

    rooms: int = 500
    guests: int = 3
    rate: float = 4000
    seconds: float = 15
    size: int = 600
    stalled: int = 0
    """Guests that do not read."""


class Figures(NamedTuple):
    """The measured figures."""

    per_second: float
    p50: float
    p99: float
    late: float
    """How late a sleeping process was woken, p99 in ms."""
    cpu: float
    """Microseconds a delivery, of all relays."""
    connection: float
    """KB."""
    memory: float
    """MB of the largest relay."""


async def measure(relays: list[RelayProcess], profile: Load) -> Figures:
    """Open the rooms, send, and read what the relays have used."""
    latencies: list[float] = []
    empty = [relay.usage() for relay in relays]
    rooms = await open_rooms([r.port for r in relays], profile.rooms, profile.guests, latencies)
    for number in range(profile.stalled):
        path = f"/r/{room_name(number % profile.rooms)}?role=guest"
        stalled = await connect(relays[0].port, path, "", [])
        stalled.transport.pause_reading()
    connected = [relay.usage() for relay in relays]
    connections = profile.rooms * (profile.guests + 1) + profile.stalled
    late = await load(rooms, rate=profile.rate, seconds=profile.seconds, size=profile.size)
    after = [relay.usage() for relay in relays]
    cpu = sum(a[0] - b[0] for a, b in zip(after, connected, strict=True))
    memory = sum(c[1] - e[1] for c, e in zip(connected, empty, strict=True))
    for host, guests in rooms:
        for client in (host, *guests):
            client.transport.abort()
    return Figures(
        per_second=len(latencies) / profile.seconds,
        p50=percentile(latencies, 0.5),
        p99=percentile(latencies, 0.99),
        late=percentile(late, 0.99),
        cpu=cpu / max(1, len(latencies)) * 1e6,
        connection=memory * 1024 / connections,
        memory=max(m for _, m in after),
    )


async def killed(relays: list[RelayProcess]) -> float:
    """Seconds from the death of one of two relays until all are in their rooms again."""
    rooms = await open_rooms([r.port for r in relays], 20, 4, [])
    began = time.perf_counter()
    relays[0].stop(signal.SIGKILL)
    again = await move_to_relay(rooms, relays[1].port)
    seconds = time.perf_counter() - began
    for host, guests in again:
        for client in (host, *guests):
            client.transport.abort()
    return seconds


@contextlib.contextmanager
def running(count: int, nats_port: int) -> Iterator[list[RelayProcess]]:
    """Relays, with NATS if there are several."""
    nats = None
    more: tuple[str, ...] = ()
    if count > 1:
        if (program := nats_server()) is None:
            raise SystemExit("nats-server was not found: run scripts/oracles, or install it.")
        nats = Nats(program, nats_port)
        time.sleep(0.5)
        more = ("--cluster", nats.url)
    relays = [RelayProcess("0", *more) for _ in range(count)]
    try:
        yield relays
    finally:
        for relay in relays:
            relay.stop()
        if nats is not None:
            nats.stop()


def show(title: str, found: Figures) -> None:
    """Print the figures of one load."""
    print(
        f"{title}, load of the machine {os.getloadavg()[0]:.1f}\n"
        f"  deliveries     {found.per_second:8.0f} /s\n"
        f"  latency p50    {found.p50:8.2f} ms\n"
        f"  latency p99    {found.p99:8.2f} ms\n"
        f"  scheduler p99  {found.late:8.2f} ms (how late a sleeping process is woken here)\n"
        f"  CPU            {found.cpu:8.1f} us a delivery\n"
        f"  per connection {found.connection:8.1f} KB\n"
        f"  memory         {found.memory:8.0f} MB",
        flush=True,
    )


def check(what: str, value: float, limit: float, unit: str) -> None:
    """Print a figure beside the one to reach."""
    print(
        f"{'✓' if value <= limit else '✗'} {what:44} {value:8.2f} {unit} (≤ {limit:g})", flush=True
    )


def measure_all(seconds: float, nats_port: int) -> None:
    """Everything that has a figure to reach."""
    with running(1, nats_port) as relays:
        one = asyncio.run(measure(relays, Load(seconds=seconds)))
    show("1 relay, 500 rooms x 3 guests", one)
    with running(2, nats_port) as relays:
        two = asyncio.run(measure(relays, Load(rate=2000, seconds=seconds)))
    show("2 relays with NATS, 500 rooms x 3 guests", two)
    few = Load(rooms=20, rate=2000, size=4000, seconds=seconds)
    with running(1, nats_port) as relays:
        free = asyncio.run(measure(relays, few))
    with running(1, nats_port) as relays:
        stalled = asyncio.run(measure(relays, few._replace(stalled=20)))
    with running(2, nats_port) as relays:
        resumed = asyncio.run(killed(relays))
    print(f"\nfigures to reach, load of the machine {os.getloadavg()[0]:.1f}")
    check("1 relay, 4,000/s: p99", one.p99, 10, "ms")
    check("1 relay: memory", one.memory, 80, "MB")
    check("1 relay: a connection", one.connection, 16, "KB")
    check("2 relays with NATS, 2,000/s: p99", two.p99, 20, "ms")
    check("20 stalled guests: p99 of the others, more", stalled.p99 - free.p99, 5, "ms")
    check("one of two relays is killed: all resume", resumed, 5, "s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="everything with a figure to reach")
    parser.add_argument("--rooms", type=int, default=500)
    parser.add_argument("--guests", type=int, default=3)
    parser.add_argument("--rate", type=float, default=4000, help="deliveries a second")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--size", type=int, default=600)
    parser.add_argument("--relays", type=int, default=1, help="2 or more need nats-server")
    parser.add_argument("--stalled", type=int, default=0, help="guests that do not read")
    parser.add_argument("--nats-port", type=int, default=14222)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if options.all:
        measure_all(options.seconds, options.nats_port)
        return
    chosen = Load(*(getattr(options, name) for name in Load._fields))
    with running(options.relays, options.nats_port) as relays:
        found = asyncio.run(measure(relays, chosen))
    show(f"{options.relays} relay(s), {options.rooms} rooms x {options.guests} guests", found)


if __name__ == "__main__":
    main()
