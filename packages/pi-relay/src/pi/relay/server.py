"""The relay as a web server: its routes, and WebSockets of aiohttp as ``Connection`` of a room."""

from __future__ import annotations

import asyncio
import base64
import binascii
import gc
import re
import signal
import socket as sockets
import stat
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, Final

from aiohttp import WSMsgType, web

from pi.base.errors import PiError
from pi.base.http_server import KEEP_ALIVE_SECONDS, SERVER_LOG, WaitingConnections
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.relay.bind import Bind
from pi.relay.limits import AddressLimits, Limits
from pi.relay.metrics import Metrics
from pi.relay.pages import Pages
from pi.relay.rooms import FULL, RESTARTING, Refused, Rooms
from pi.relay.shares import ShareRoutes, Shares

HIGH_WATER: Final = 64 * 1024 * 1024
"""Never reached: rooms disconnect a receiver long before."""
CLOSE_SECONDS: Final = 5.0
BUFFER_SECONDS: Final = 0.02
"""Seconds between two checks of a receiver with unsent data."""
_CHUNK: Final = 64 * 1024
_ABORT_ABOVE: Final = 256 * 1024
_BINARY: Final = 0x82
"""The first byte of a WebSocket frame that is a whole binary message."""
_SHORT, _MEDIUM, _LONG = Struct(">BB"), Struct(">BBH"), Struct(">BBQ")


class SocketConnection:
    """Sends without waiting, so that no receiver delays another one."""

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.Transport, tasks: TaskScope
    ) -> None:
        self._socket = socket
        self._transport = transport
        self._tasks = tasks
        self._closing = False
        # From Python 3.12 on, a transport keeps a list of what was written and adds up its lengths
        # with every write: with small frames for a receiver that does not read, each one took
        # 0.1 ms and more. They are collected here, so that the list stays short.
        self._buffer = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        # aiohttp waits in ``send_str`` above this mark, and only there. With a mark that is never
        # reached it writes at once; rooms check ``unsent`` instead.
        transport.set_write_buffer_limits(high=HIGH_WATER)

    @property
    def unsent(self) -> int:
        """Bytes here and in the buffer of the transport."""
        return len(self._buffer) + self._transport.get_write_buffer_size()

    def send(self, data: bytes) -> None:
        """Send a binary message, if the socket is open.

        Written here without ``send_bytes`` of aiohttp: a frame below 64 KiB is one write to the
        transport. A server does not mask and this one does not compress, so a frame is a head and
        the data.
        """
        transport = self._transport
        if self._closing or transport.is_closing():
            return
        size = len(data)
        if size < 126:
            self._write(_SHORT.pack(_BINARY, size) + data)
        elif size < 65536:
            self._write(_MEDIUM.pack(_BINARY, 126, size) + data)
        else:  # not joined: that would copy it for each receiver
            self._flush()
            transport.write(_LONG.pack(_BINARY, 127, size))
            transport.write(data)

    def _write(self, frame: bytes) -> None:
        if not self.unsent:
            self._transport.write(frame)
            return
        self._buffer += frame
        if len(self._buffer) >= _CHUNK:
            self._flush()
        elif self._timer is None:
            self._check_later()

    def _check_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BUFFER_SECONDS, self._check_buffer)

    def _check_buffer(self) -> None:
        self._timer = None
        if self._transport.is_closing():
            self._buffer.clear()
        elif not self._transport.get_write_buffer_size():
            self._flush()
        elif self._buffer:
            self._check_later()

    def _flush(self) -> None:
        if self._buffer:
            buffered, self._buffer = self._buffer, bytearray()
            self._transport.write(buffered)

    def send_text(self, text: str) -> None:
        """Send a text message, if the socket is open."""
        if not self._closing:
            self._flush()
            self._now(self._socket.send_str(text))

    def close(self, code: int, reason: str) -> None:
        """Close the socket; at once if its other side does not read."""
        if self._closing:
            return
        self._closing = True
        if self.unsent > _ABORT_ABOVE:
            self._transport.abort()
            return
        self._flush()
        self._tasks.start(self._close(code, reason), name="close a socket")

    async def _close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._socket.close(code=code, message=reason.encode())
        except (TimeoutError, ConnectionError):
            # Only then: a reset would take the close code from a client that has not read it yet.
            self._transport.abort()

    def _now(self, sending: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that does not wait: a task for each message costs more than the send."""
        try:
            sending.send(None)
        except StopIteration:
            return
        except (ConnectionError, RuntimeError):  # it was closed by the other side
            self._closing = True
            return
        sending.close()
        self._closing = True
        self._transport.abort()


ROOM_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
HEARTBEAT_SECONDS: Final = 20.0
"""A connection that does not answer a ping for half as long is dead."""
DRAIN_SECONDS: Final = 5.0
TIDY_SECONDS: Final = 5.0


class RelayOptions(Record):
    """Options of a relay."""

    bind: Bind
    limits: Limits = Limits()
    store: Path | None = None
    """The folder for shares; ``None`` keeps them in memory."""
    cluster: str = ""
    """Address of NATS, if several processes are one relay."""
    trust_proxy: bool = False
    """Whether ``X-Forwarded-For`` is trusted."""


class Relay:
    """One process of a relay."""

    def __init__(
        self,
        options: RelayOptions,
        *,
        report: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.options = options
        self.metrics = Metrics()
        self.rooms = Rooms(options.limits, self.metrics, now)
        self.shares = Shares(options.limits, now_ms, options.store)
        self.pages = Pages()
        self.addresses = AddressLimits(options.limits, now)
        self.waiting = WaitingConnections(options.limits.request_seconds, now)
        self.address = ""
        """The address that it listens on, once started."""
        self._report = report
        self._tasks = TaskScope(report=lambda name, error: report(f"{name} failed: {error!r}"))
        self._runner: web.AppRunner | None = None
        self._sockets: set[SocketConnection] = set()
        self._draining = False
        self._inode = 0
        """Inode of our Unix socket."""
        self._cluster: Any = None

    # Start and end --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen; raises ``PiError`` if that is not possible."""
        if self.options.bind.path:
            _remove_old_socket(self.options.bind.path)
        if self.options.cluster:
            from pi.relay.cluster import Cluster  # lazy: needs the extra ``cluster``

            self._cluster = Cluster(self.rooms, self._tasks, self._report)
            await self._cluster.connect(self.options.cluster)
        app = web.Application(client_max_size=self.options.limits.share_bytes + 1024)
        # Not the middleware of ``waiting``: it would keep half a kilobyte for each guest.
        app.on_response_prepare.append(self._note_response)
        app.add_routes(
            [
                web.get("/healthz", self._health),
                web.get("/metrics", self._metrics_page),
                web.get("/r/{room}", self._socket),
                *ShareRoutes(
                    self.shares, self.pages, self.options.limits.share_bytes, self._admit_share
                ).table(),
                *self.pages.table(),  # last: one of them matches any name
            ]
        )
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=DRAIN_SECONDS,
            logger=SERVER_LOG,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
        )
        await self._runner.setup()
        bind = self.options.bind
        site: web.BaseSite
        if bind.path:
            site = web.UnixSite(self._runner, bind.path)
        else:
            site = web.TCPSite(self._runner, bind.host, bind.port, backlog=1024)
        try:
            await site.start()
            if bind.path:
                # The proxy before the relay is another user. As with a port of this machine, all
                # its users may connect; the permissions of the folder restrict that.
                Path(bind.path).chmod(0o666)
                self._inode = Path(bind.path).stat().st_ino
        except OSError as error:
            await self.close()
            address = bind.path or f"{bind.host}:{bind.port}"
            raise PiError(
                f"The relay cannot listen on {address}: {error.strerror}",
                hint="Choose another place with RELAY_BIND or --bind.",
            ) from error
        self.address = _address(self._runner, bind)
        self._tasks.start(self._tidy(), name="tidy")

    async def close(self) -> None:
        """Stop accepting, close all sockets with a code that means "connect again", and end."""
        self._draining = True
        for connection in list(self._sockets):
            connection.close(RESTARTING, "the relay restarts")
        if self._runner is not None:
            await self._runner.cleanup()
        if self._cluster is not None:
            await self._cluster.close()
        await self._tasks.close()
        if self._inode:
            path = Path(self.options.bind.path)
            with suppress(OSError):
                if path.stat().st_ino == self._inode:  # another relay may have replaced it
                    path.unlink()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            self.rooms.expire()
            self.shares.expire()
            self.addresses.forget_idle()
            if self._runner is not None and self._runner.server is not None:
                self.waiting.close_slow(self._runner.server.connections)

    # WebSockets -----------------------------------------------------------------------------------

    async def _note_response(self, request: web.Request, response: web.StreamResponse) -> None:
        self.waiting.note(request)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        limits = self.options.limits
        room_id, role = request.match_info["room"], request.query.get("role", "guest")
        if not ROOM_ID.fullmatch(room_id) or role not in ("host", "guest"):
            raise web.HTTPBadRequest(text="Use /r/ROOM?role=host or /r/ROOM?role=guest.\n")
        if self._draining:
            raise web.HTTPServiceUnavailable(text="The relay restarts.\n")
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_SECONDS,
            compress=False,  # sealed frames do not compress, and a context costs 40 KB
            max_msg_size=limits.frame_bytes,
            timeout=CLOSE_SECONDS,
        )
        if not socket.can_prepare(request):
            raise web.HTTPUpgradeRequired(text="This is for WebSockets.\n")
        await socket.prepare(request)
        transport = request.transport
        if transport is None:
            return socket
        connection = SocketConnection(socket, transport, self._tasks)
        address = self._address_of(request)
        if not self.addresses.connect(address):
            self.metrics.refused("address")
            await socket.close(code=FULL, message=b"too many connections from this address")
            return socket
        self._sockets.add(connection)
        try:
            if role == "host":
                await self._serve_host(request, socket, connection, room_id, address)
            else:
                await self._serve_guest(socket, connection, room_id)
        except Refused as refusal:
            self.metrics.refused(str(refusal.code))
            await socket.close(code=refusal.code, message=refusal.reason.encode())
        finally:
            self._sockets.discard(connection)
            self.addresses.disconnect(address)
        return socket

    async def _serve_host(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        connection: SocketConnection,
        room_id: str,
        address: str,
    ) -> None:
        hash_, secret = (
            _decoded(request.headers.get(name, "")) for name in ("Pi-Takeover-Hash", "Pi-Takeover")
        )
        if self._cluster is not None:
            if self.rooms.find(room_id) is None:
                await self._cluster.claim(room_id, secret)
            await self._cluster.serve(room_id)
        room = self.rooms.open(
            room_id, connection, takeover_hash=hash_, takeover=secret, address=address
        )
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    self.rooms.from_host(room, connection, message.data)
                elif message.type is WSMsgType.TEXT:
                    self.rooms.host_text(room, connection, message.data)
        finally:
            self.rooms.host_left(room, connection)

    async def _serve_guest(
        self, socket: web.WebSocketResponse, connection: SocketConnection, room_id: str
    ) -> None:
        visit, cluster = None, self._cluster
        if self.rooms.find(room_id) is None and cluster is not None:
            visit = await cluster.visit(room_id, connection)
        if visit is not None and cluster is not None:
            try:
                async for message in socket:
                    if message.type is WSMsgType.BINARY:
                        visit.send(message.data)
            finally:
                cluster.visit_ended(visit)
            return
        room, guest = self.rooms.join(room_id, connection)
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    self.rooms.from_guest(room, guest, message.data)
        finally:
            self.rooms.guest_left(room, guest)

    def _address_of(self, request: web.Request) -> str:
        if self.options.trust_proxy or self.options.bind.path:
            sent = request.headers.get("X-Forwarded-For", "")
            if last := sent.rpartition(",")[2].strip():  # the one that our own proxy has added
                return last
        return request.remote or ""

    # State ----------------------------------------------------------------------------------------

    async def _health(self, request: web.Request) -> web.Response:
        if self._draining:
            return web.Response(status=503, text="draining\n")
        if self._cluster is not None and not self._cluster.connected:
            return web.Response(status=503, text="NATS is not connected\n")
        return web.Response(text="ok\n")

    async def _metrics_page(self, request: web.Request) -> web.Response:
        guests = sum(len(room.guests) for room in self.rooms)
        hosts = sum(room.host is not None for room in self.rooms)
        gauges = {
            "rooms": len(self.rooms),
            "hosts": hosts,
            "guests": guests,
            "connections": len(self._sockets),
            "shares": len(self.shares),
            "share_bytes": self.shares.size,
        }
        return web.Response(text=self.metrics.text(gauges))

    def _admit_share(self, request: web.Request) -> None:
        self.waiting.note(request)  # its body may take long
        if not self.addresses.share(self._address_of(request)):
            raise web.HTTPTooManyRequests(text="Too many shares from this address.\n")


async def serve(
    options: RelayOptions,
    *,
    report: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    """Run a relay until SIGTERM or SIGINT; ``ready`` is called with its address."""
    relay = Relay(options, report=report)
    await relay.start()
    # A full collection visits every object and stops all rooms meanwhile: 85,000 objects, most of
    # them of modules. Frozen objects are not visited any more. The objects of 2,000 connections
    # take 110 ms, so collections of the rest are made rare too.
    gc.collect()
    gc.freeze()
    gc.set_threshold(5000, 10, 10)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows: there Ctrl-C ends ``asyncio.run``
            loop.add_signal_handler(number, stopped.set)
    try:
        ready(relay.address)
        await stopped.wait()
    finally:
        await relay.close()


def _remove_old_socket(path: str) -> None:
    """Remove the socket of a relay that was killed, and nothing else; raises ``PiError``."""
    try:
        kind = Path(path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(kind):
        raise PiError(
            f"The relay cannot listen on {path}: there is a file that is not a socket",
            hint="Choose another place with RELAY_BIND or --bind.",
        )
    with sockets.socket(sockets.AF_UNIX) as probe, suppress(OSError):
        probe.connect(path)
        raise PiError(
            f"The relay cannot listen on {path}: another process listens there",
            hint="End it, or choose another place with RELAY_BIND or --bind.",
        )
    Path(path).unlink(missing_ok=True)


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)) if text else b""
    except (binascii.Error, ValueError):
        return b""


def _address(runner: web.AppRunner, bind: Bind) -> str:
    if bind.path:
        return f"unix:{bind.path}"
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
