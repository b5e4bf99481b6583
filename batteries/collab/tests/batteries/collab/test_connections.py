"""Connections that break in other ways than closing, large sessions, and sub-agents."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bench.programs.relay_load import RelayProcess
from pi.batteries.collab.connection import RelayClient, RoomEnded, back_off
from pi.batteries.collab.host_room import Request
from pi.testing import FakeClock, calls, says
from tests.batteries.collab.sessions import Person, RestartingRelay, person, relay_running, until


def add_entries(who: Person, count: int, size: int) -> None:
    """Entries that the model does not see."""
    for number in range(count):
        who.pi.append_entry("filler", {"number": number, "text": "ä" * (size // 2)})


class Cable:
    """A TCP proxy that can stop forwarding without closing, as with a half-open socket."""

    def __init__(self, relay: RestartingRelay) -> None:
        self._relay = relay
        self._server: asyncio.Server | None = None
        self._cut = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"ws://127.0.0.1:{port}"

    def cut(self) -> None:
        """Stop forwarding on the current connections; new ones work."""
        self._cut.set()
        self._cut = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cut = self._cut
        port = int(self._relay.address.rpartition(":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        self._writers += [writer, back]
        for source, target in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._copy(source, target, cut))
            self._tasks.add(task)

    async def _copy(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while data := await source.read(65536):
            if cut.is_set():
                await asyncio.Event().wait()
            target.write(data)
            await target.drain()
        target.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()


@pytest.mark.full
@pytest.mark.behaviour("a-host-takes-its-room-over-by-proof")
async def test_a_half_open_connection_of_the_host_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.batteries.collab.connection.PING_SECONDS", 0.5)
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), says("Two.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        cable = Cable(relay)
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {await cable.start()}")
        host = hanna.sharing.host
        assert host is not None
        near = hanna.link().replace(host.link.relay, relay.address)
        await gus.join(near)
        assert relay.relay is not None
        (room,) = relay.relay.rooms
        old = room.host
        cable.cut()  # the relay does not notice that the old connection is dead
        await until(lambda: room.host is not None and room.host is not old)
        guest = gus.sharing.guest
        assert guest is not None
        await until(lambda: guest.room.state == "live")
        await hanna.session.prompts.prompt("Second.")
        await until(lambda: gus.file == hanna.file)
        await hanna.run("/collab stop")
        await cable.close()


@pytest.mark.full
@pytest.mark.parametrize(
    ("count", "size"), [(400, 3000), pytest.param(6600, 3000, marks=pytest.mark.full)]
)
async def test_a_large_session_is_transferred_and_a_reconnection_sends_little(
    tmp_path: Path, count: int, size: int
) -> None:
    """20 MB with ``--full``; entries of 1 MB are sent in chunks below the limit of the relay."""
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        add_entries(hanna, count, size)
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        assert gus.lines == hanna.lines
        assert sum(map(len, gus.lines)) > count * size * 0.95
        add_entries(hanna, 2, 2_000_000)
        await until(lambda: len(gus.lines) == len(hanna.lines))
        await until(lambda: gus.file == hanna.file)
        # After a reconnection only the missed entries are sent.
        host, guest = hanna.sharing.host, gus.sharing.guest
        assert host is not None
        assert guest is not None
        sizes: list[int] = []
        receive = guest.on_frame

        def count_bytes(data: bytes) -> None:
            sizes.append(len(data))
            receive(data)

        guest.on_frame = count_bytes  # type: ignore[method-assign]
        await relay.stop()
        add_entries(hanna, 1, 100)
        await relay.start()
        await until(lambda: len(gus.lines) == len(hanna.lines))
        assert sum(sizes) < 20_000
        await until(lambda: gus.file == hanna.file)


class Hub:
    """Sub-agents, as an extension would provide them."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, str, str]] = []

    def agents(self) -> list[Any]:
        return [{"id": "a1", "name": "scout", "status": "running", "task": "look"}]

    async def command(self, agent: str, action: str, text: str) -> None:
        self.commands.append((agent, action, text))

    async def transcript(self, agent: str, offset: int, *, limit: int) -> tuple[str, int | None]:
        return f"transcript of {agent}"[offset:], None


async def test_guests_use_the_sub_agents_of_the_host(tmp_path: Path) -> None:
    hub = Hub()
    async with (
        relay_running() as relay,
        person(
            tmp_path,
            "hanna",
            says("One."),
            more=(lambda pi: pi.provide("agent_hub", hub),),
        ) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        guest = gus.sharing.guest
        assert guest is not None
        await guest.request({"t": "agent-cmd", "agent": "a1", "action": "chat", "text": "hi"})
        assert hub.commands == [("a1", "chat", "hi")]
        host = hanna.sharing.host
        assert host is not None
        sent: list[Any] = []
        host.room.send = lambda peer, frame: sent.append(frame)  # type: ignore[method-assign]
        ask = {"id": "1", "agent": "a1", "offset": 14}
        assert host.services is not None
        await host.services.serve(Request(peer=1, name="x", kind="fetch-transcript", frame=ask))
        assert (sent[0]["text"], sent[0]["next"]) == ("a1", None)
        bad = {"id": "2", "agent": "a1", "action": "sing"}
        await host.services.serve(Request(peer=1, name="x", kind="agent-cmd", frame=bad))
        assert sent[1]["code"] == "bad-frame"


async def test_invalid_prompts_are_rejected_and_commands_of_guests_are_plain_text(
    tmp_path: Path,
) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), says("Two.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        host, guest = hanna.sharing.host, gus.sharing.guest
        assert host is not None
        assert guest is not None
        for frame in (
            {"text": ""},
            {"text": 7},
            {"text": "x", "images": "no"},
            {"text": "x", "images": [{"data": 1}]},
            {"text": "x", "images": [{"data": "AA", "mimeType": "text/html"}]},
            {},
        ):
            with pytest.raises(Exception, match=r"invalid|empty"):
                await guest.request({"t": "prompt", **frame})
        await gus.session.prompts.prompt("/collab stop")
        assert not host.ended, "commands of guests are text"
        await gus.session.prompts.prompt("!echo no")
        await until(lambda: hanna.session.runs.idle)
        assert "bashExecution" not in b"".join(hanna.lines).decode()


def test_reconnection_delays_grow_exponentially_up_to_30_seconds() -> None:
    for spread, factor in ((0.0, 0.75), (1.0, 1.25), (0.5, 1.0)):
        waits = [back_off(n, lambda spread=spread: spread) for n in range(8)]  # type: ignore[misc]
        assert waits == [base * factor for base in (1, 2, 4, 8, 16, 30, 30, 30)]


async def test_a_client_fails_if_the_relay_was_never_reachable() -> None:
    class Nowhere:
        def on_open(self) -> None: ...
        def on_lost(self) -> None: ...
        def on_text(self, text: str) -> None: ...
        def on_frame(self, data: bytes) -> None: ...
        def next_frame(self) -> None: ...

    clock = FakeClock()
    client = RelayClient("ws://127.0.0.1:9/r/x?role=guest", Nowhere(), clock, dict)
    task = asyncio.create_task(client.run())
    async with asyncio.timeout(20):
        while not task.done():
            await asyncio.sleep(0.01)
            await clock.advance(5)
    with pytest.raises(RoomEnded, match="cannot be reached"):
        task.result()


def memory_of(pid: int) -> bytes:
    """Everything that a process can write to: heap, stacks and data."""
    parts = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(each, 16) for each in place.split("-"))
            memory.seek(start)
            with suppress(OSError):  # some pages of the kernel cannot be read
                parts.append(memory.read(end - start))
    return b"\n".join(parts)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
@pytest.mark.behaviour("the-relay-sees-no-plaintext")
async def test_memory_and_log_of_a_relay_have_no_plaintext_and_no_key(tmp_path: Path) -> None:
    log = (tmp_path / "relay.log").open("wb")
    relay = RelayProcess(log=log)
    steps = (
        calls("bash", command="echo tool-output-marzipan"),
        says("The answer-nougat is long. " * 200),
        says("A second answer-truffle."),
    )
    try:
        async with (
            person(tmp_path, "mirabelle", *steps) as hanna,
            person(tmp_path, "zwetschge") as gus,
        ):
            await hanna.session.prompts.prompt("What about prompt-praline?")
            await hanna.run(f"/collab ws://127.0.0.1:{relay.port}")
            await gus.join(hanna.link())
            guest, host = gus.sharing.guest, hanna.sharing.host
            assert guest is not None
            assert host is not None
            await guest.request({"t": "prompt", "text": "And prompt-caramel?"})
            await until(lambda: b"answer-truffle" in gus.file and hanna.file == gus.file)
            found = await asyncio.to_thread(memory_of, relay.process.pid)
            keys, link = host.link.keys, host.link
        log.close()
        logged = (tmp_path / "relay.log").read_bytes()
        assert link.room.encode() in found  # a relay knows it, so the scan reads its memory
        secret = base64.urlsafe_b64encode(keys.key + keys.token)
        words = (
            b"marzipan",
            b"nougat",
            b"truffle",
            b"praline",
            b"caramel",
            b"mirabelle",
            b"zwetschge",
        )
        for each in (*words, keys.key, keys.token, secret[:40], secret[44:], b"echo tool"):
            assert each not in found
            assert each not in logged
        assert logged == b""
    finally:
        relay.stop()
