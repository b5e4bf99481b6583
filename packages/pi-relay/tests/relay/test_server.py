"""The relay as a server, on a real socket."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.relay.bind import Bind, parse_bind
from pi.relay.limits import Limits
from pi.relay.pages import sha256, web_files
from pi.relay.server import Relay, RelayOptions, SocketConnection
from pi.relay.shares import Shares, StoreFull

ROOM = "A" * 22
SECRET = b"s" * 32
BLOB = b"\x01" + bytes(range(100))


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


HOST = {"Pi-Takeover-Hash": text(hashlib.sha256(SECRET).digest())}
AGAIN = {**HOST, "Pi-Takeover": text(SECRET)}


@asynccontextmanager
async def running(
    store: Path | None = None, **limits: Any
) -> AsyncIterator[tuple[Relay, aiohttp.ClientSession]]:
    options = RelayOptions(bind=Bind(host="127.0.0.1"), limits=Limits(**limits), store=store)
    relay = Relay(options, report=lambda line: None)
    await relay.start()
    async with aiohttp.ClientSession(relay.address) as client:
        try:
            yield relay, client
        finally:
            await relay.close()


def frame(peer: int, body: bytes = b"x" * 60) -> bytes:
    return peer.to_bytes(4, "big") + body


async def closed(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    while (message := await socket.receive()).type in (
        aiohttp.WSMsgType.TEXT,
        aiohttp.WSMsgType.BINARY,
    ):
        pass
    # aiohttp changes ``close_code`` if the server has gone before it could answer.
    return message.data if message.type is aiohttp.WSMsgType.CLOSE else socket.close_code


async def test_host_and_guest_exchange_frames() -> None:
    async with running() as (relay, client):
        async with (
            client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as host,
            client.ws_connect(f"/r/{ROOM}?role=guest") as guest,
        ):
            assert await host.receive_json() == {"type": "room-open"}
            assert await host.receive_json() == {"type": "peer-joined", "peer": 1}
            assert await guest.receive_json() == {"type": "host-joined"}
            await host.send_bytes(frame(0, b"y" * 700_000))
            assert await guest.receive_bytes() == frame(0, b"y" * 700_000)
            await guest.send_bytes(frame(0))
            assert await host.receive_bytes() == frame(1)
            async with client.get("/metrics") as page:
                shown = await page.text()
            assert "pi_relay_guests 1" in shown
            assert "pi_relay_deliveries_total 2" in shown
            assert ROOM not in shown
            await host.send_str('{"type":"close"}')
            assert await guest.receive_json() == {"type": "room-closed"}
            assert await closed(guest) == 4001
        assert len(relay.rooms) == 0


async def test_connections_are_closed_with_specific_codes() -> None:
    async with running(guests_per_room=1, frame_bytes=1000) as (_, client):
        async with client.ws_connect(f"/r/{ROOM}?role=guest") as nowhere:
            assert await closed(nowhere) == 4004
        async with client.ws_connect(f"/r/{ROOM}?role=host") as unregistered:
            assert await closed(unregistered) == 4009
        async with client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as host:
            async with client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as thief:
                assert await closed(thief) == 4009
            async with client.ws_connect(f"/r/{ROOM}") as guest:
                assert await guest.receive_json() == {"type": "host-joined"}
                async with client.ws_connect(f"/r/{ROOM}") as late:
                    assert await closed(late) == 4029
                await guest.send_bytes(b"x" * 1001)
                assert await closed(guest) == 1009
            async with client.ws_connect(f"/r/{ROOM}?role=host", headers=AGAIN):
                assert await closed(host) == 4009


async def test_requests_without_websocket_upgrade_return_a_status() -> None:
    async with running() as (_, client):
        for path, status in (
            ("/r/short?role=host", 400),
            (f"/r/{ROOM}?role=king", 400),
            (f"/r/{ROOM}", 426),
            ("/healthz", 200),
            ("/", 200),
            ("/nothing.js", 404),
            ("/..%2f..%2fetc%2fpasswd", 404),
            ("/s/unknown", 404),
            ("/s/unknown/raw", 404),
        ):
            async with client.get(path) as answer:
                assert answer.status == status, path


@pytest.mark.behaviour("web-client-runs-only-pinned-modules")
async def test_pages_pin_the_hash_of_each_script() -> None:
    files = web_files()
    for page, first in (("index.html", "app.js"), ("share.html", "share.js")):
        text, policy = files[page].body.decode(), files[page].headers["Content-Security-Policy"]
        scripts = re.search(r"script-src ([^;]+);", policy)
        assert scripts is not None
        allowed = scripts[1].split()
        assert all(each.startswith("'sha256-") for each in allowed)
        for name in (first, "markdown.js", "transcript.js", "session.js", "theme.js"):
            hash = sha256(files[name].body)
            assert f"'{hash}'" in allowed
            assert text.count(hash) >= 2
        (inline,) = re.findall(r'<script type="importmap">(.*?)</script>', text)
        assert f"'{sha256(inline.encode())}'" in allowed
    assert "script-src 'none'" in files["app.js"].headers["Content-Security-Policy"]


async def test_a_stalled_guest_is_disconnected_without_delaying_the_others() -> None:
    async with (
        running() as (relay, client),
        client.ws_connect(f"/r/{ROOM}?role=host", headers=HOST) as host,
        client.ws_connect(f"/r/{ROOM}", max_msg_size=0) as reading,
    ):
        address = relay.address.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(address[0], int(address[2]), limit=2**16)
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(
            f"GET /r/{ROOM} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade"
            f"\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")  # and from now on it does not read
        texts = [await host.receive_json() for _ in range(3)]
        assert [each.get("peer") for each in texts] == [None, 1, 2]
        await reading.receive_json()
        sent = 0
        left = asyncio.create_task(host.receive_json())
        while not left.done():  # more than the kernel's buffers and 1 MB
            await host.send_bytes(frame(0, bytes(500_000)))
            assert len(await reading.receive_bytes()) == 500_004
            sent += 1
            assert sent < 100
        assert left.result() == {"type": "peer-left", "peer": 2}
        await host.send_bytes(frame(0))
        assert await reading.receive_bytes() == frame(0)
        writer.close()


class StalledTransport:
    """A transport whose other side does not read until ``drain`` is called."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = [b"!"]
        self.sent = b""

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.waiting))

    def write(self, data: bytes) -> None:
        self.waiting.append(bytes(data))

    def drain(self) -> None:
        self.sent += b"".join(self.waiting)
        self.waiting = []

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int) -> None:
        """Does nothing: the transport never pauses its protocol."""


async def test_small_frames_for_a_stalled_guest_are_queued_in_order() -> None:
    transport = StalledTransport()
    scope = TaskScope(report=lambda what, error: None)
    connection = SocketConnection(None, transport, scope)  # type: ignore[arg-type]
    frames = [frame(0, n.to_bytes(4, "big") * 25) for n in range(2000)]
    for each in frames[:1500]:
        connection.send(each)
    assert connection.unsent == 1 + 1500 * 106
    assert len(transport.waiting) < 5, "from Python 3.12 on, each write costs as much as these are"
    connection.send(frame(0, bytes(70_000)))
    for each in frames[1500:]:
        connection.send(each)
    expected = b"".join(b"\x82\x68" + each for each in frames[:1500])
    expected += b"\x82\x7f" + (70_004).to_bytes(8, "big") + frame(0, bytes(70_000))
    expected += b"".join(b"\x82\x68" + each for each in frames[1500:])
    while len(transport.sent) <= len(expected):  # bounded by the limit of every test
        transport.drain()
        await asyncio.sleep(0.005)
    assert transport.sent == b"!" + expected
    await scope.close()


async def test_a_unix_socket_is_accessible_to_a_proxy_and_replaces_only_a_stale_socket(
    tmp_path: Path,
) -> None:
    path = tmp_path / "relay.sock"

    def relay() -> Relay:
        return Relay(RelayOptions(bind=Bind(path=str(path))), report=lambda line: None)

    path.write_text("a file of the user")
    with pytest.raises(PiError, match="not a socket"):
        await relay().start()
    assert path.read_text() == "a file of the user"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    first = relay()
    await first.start()
    assert stat.S_IMODE(path.stat().st_mode) == 0o666, "a proxy is another user"
    with pytest.raises(PiError, match="another process listens"):
        await relay().start()
    assert path.exists()
    connector = aiohttp.UnixConnector(str(path))
    async with (
        aiohttp.ClientSession("http://relay", connector=connector) as client,
        client.get("/healthz") as answer,
    ):
        assert await answer.text() == "ok\n"
    await first.close()
    assert not path.exists()


async def test_shares_are_stored_read_revoked_and_expire(tmp_path: Path) -> None:
    async with running(tmp_path / "shares", share_bytes=200) as (relay, client):
        async with client.post("/s", data=BLOB, headers={"Pi-Expires": "3600"}) as answer:
            assert answer.status == 201
            new = await answer.json()
        async with client.get(f"/s/{new['id']}/raw") as answer:
            assert await answer.read() == BLOB
            assert answer.headers["Cache-Control"] == "no-store"
        async with client.get(f"/s/{new['id']}") as answer:
            assert answer.status == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        async with client.post("/s", data=b"\x01" * 201) as answer:
            assert answer.status == 413
        async with client.post("/s", data=b"\x01" * 900_000) as answer:
            assert answer.status == 413
        async with client.post("/s", data=b"<html>" * 10) as answer:
            assert answer.status == 400
        for token in ("", "wrong"):
            headers = {"Authorization": f"Bearer {token}"}
            async with client.delete(f"/s/{new['id']}", headers=headers) as answer:
                assert answer.status == 404
        files = list((tmp_path / "shares").iterdir())
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
        assert new["revoke"] not in "".join(each.read_text("latin-1") for each in files)
        headers = {"Authorization": f"Bearer {new['revoke']}"}
        async with client.delete(f"/s/{new['id']}", headers=headers) as answer:
            assert answer.status == 204
        async with client.get(f"/s/{new['id']}/raw") as answer:
            assert answer.status == 404
        assert list((tmp_path / "shares").iterdir()) == []
        assert (len(relay.shares), relay.shares.size) == (0, 0)


async def test_shares_survive_a_restart_until_they_expire(tmp_path: Path) -> None:
    now = 1_000_000
    limits = Limits(store_bytes=250)
    first = Shares(limits, lambda: now, tmp_path)
    other = Shares(limits, lambda: now, tmp_path)
    new = await first.add(BLOB, 60)
    assert await other.read(new.id) == BLOB, "another process uses the same folder"
    again = Shares(limits, lambda: now, tmp_path)
    assert await again.read(new.id) == BLOB
    await again.add(BLOB, None)
    with pytest.raises(StoreFull):
        await again.add(BLOB, None)
    now += 61_000
    assert await again.read(new.id) is None
    await again.add(BLOB, 10**12)
    assert max(row.expires for row in again._rows.values()) <= now + 90 * 86_400_000
    assert len(again) == 2


@pytest.mark.parametrize(
    ("given", "bind"),
    [
        ("", Bind(host="127.0.0.1", port=7475)),
        ("8080", Bind(host="127.0.0.1", port=8080)),
        ("0.0.0.0:1", Bind(host="0.0.0.0", port=1)),
        ("[::1]:7475", Bind(host="::1", port=7475)),
        ("/run/pi.sock", Bind(path="/run/pi.sock")),
        ("./pi.sock", Bind(path="./pi.sock")),
    ],
)
def test_bind_addresses_are_parsed(given: str, bind: Bind) -> None:
    assert parse_bind(given) == bind


@pytest.mark.parametrize("given", ["x", "host:", ":80", "host:99999", "host:-1"])
def test_invalid_bind_addresses_are_rejected(given: str) -> None:
    with pytest.raises(PiError):
        parse_bind(given)


async def test_a_port_in_use_is_an_error_in_one_line() -> None:
    async with running() as (relay, _):
        port = int(relay.address.rpartition(":")[2])
        bind = Bind(host="127.0.0.1", port=port)
        with pytest.raises(PiError, match="cannot listen on"):
            await Relay(RelayOptions(bind=bind), report=lambda line: None).start()


async def test_a_unix_socket_is_served_and_removed_at_the_end(tmp_path: Path) -> None:
    path = str(tmp_path / "relay.sock")
    relay = Relay(RelayOptions(bind=Bind(path=path)), report=lambda line: None)
    await relay.start()
    async with (
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(path)) as client,
        client.get("http://relay/healthz") as answer,
    ):
        assert await answer.text() == "ok\n"
    await relay.close()
    assert not Path(path).exists()


# Hostile clients ----------------------------------------------------------------------------------


async def test_a_connection_without_a_complete_request_is_closed() -> None:
    async with running(request_seconds=0) as (relay, client):
        served = await client.get("/healthz")
        await served.read()  # its connection stays open
        reader, writer = await asyncio.open_connection("127.0.0.1", client._base_url.port)  # type: ignore[union-attr]
        writer.write(b"GET / HT")
        await writer.drain()
        assert relay._runner is not None and relay._runner.server is not None
        for _ in range(1000):
            if len(relay._runner.server.connections) == 2:
                break
            await asyncio.sleep(0)

        relay.waiting.close_slow(relay._runner.server.connections)

        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert len(relay._runner.server.connections) == 1


async def test_bytes_that_are_not_http_are_answered_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as (_, client):
        reader, writer = await asyncio.open_connection("127.0.0.1", client._base_url.port)  # type: ignore[union-attr]
        writer.write(b"\x00\x1b[31m\r\n\r\n")
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"\x1b" not in answer
    assert caplog.records == []
