"""Several relay processes as one, over NATS.

The process of the host owns the room. A guest that connects elsewhere is a *visitor* there: its
process finds the owner by the subject of the room, and from then on both exchange messages on
their own subjects. NATS delivers at most once, so the messages from one process to another are
numbered; a gap is reported to both ends, which resynchronise.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.relay.rooms import (
    HOST_EXISTS,
    NO_ROOM,
    RESTARTING,
    STALLED,
    Connection,
    Guest,
    Refused,
    Room,
    Rooms,
)

BEAT_SECONDS: Final = 0.5
SILENT_SECONDS: Final = 2.0
"""Seconds of silence after which a process counts as gone."""
ASK_SECONDS: Final = 2.0
CONNECT_SECONDS: Final = 5.0
HEADROOM: Final = 16 * 1024
"""Bytes of a NATS message besides the frame."""
MAX_PENDING: Final = 8 * 1024 * 1024

_DATA, _TEXT, _CLOSE, _FROM_GUEST, _LEFT, _GAP = range(6)
_HEAD = Struct(">8sQBBH")
"""Sender, number, kind, unused, number of visitors; then their ids and the content."""
_VISITOR = Struct(">Q")


class RemoteGuest:
    """A guest of a room here whose socket is at another process."""

    def __init__(self, cluster: Cluster, process: bytes, visitor: int) -> None:
        self._cluster = cluster
        self.process = process
        self.visitor = visitor
        self.membership: tuple[Room, Guest] | None = None

    @property
    def unsent(self) -> int:
        """Always 0: the other process disconnects a visitor that does not read."""
        return 0

    def send(self, data: bytes) -> None:
        """Send a frame; the same frame to several visitors of a process is one message."""
        self._cluster.queue(self.process, _DATA, self.visitor, data)

    def send_text(self, text: str) -> None:
        """Send a text message."""
        self._cluster.queue(self.process, _TEXT, self.visitor, text.encode())

    def close(self, code: int, reason: str) -> None:
        """Let the other process close the socket."""
        content = json.dumps([code, reason]).encode()
        self._cluster.queue(self.process, _CLOSE, self.visitor, content)


class Visit:
    """A guest here whose room is at another process."""

    def __init__(self, cluster: Cluster, owner: bytes, visitor: int, socket: Connection) -> None:
        self._cluster = cluster
        self.owner = owner
        self.visitor = visitor
        self.socket = socket

    def send(self, data: bytes) -> None:
        """Forward a frame of the guest to the owner of the room."""
        self._cluster.queue(self.owner, _FROM_GUEST, self.visitor, data)


class Cluster:
    """The connection of this process to the others."""

    def __init__(self, rooms: Rooms, tasks: TaskScope, report: Callable[[str], None]) -> None:
        self._rooms = rooms
        self._tasks = tasks
        self._report = report
        self._client = Client()
        self.id = os.urandom(8)
        self._visits: dict[int, Visit] = {}
        self._guests: dict[tuple[bytes, int], RemoteGuest] = {}
        self._next_visitor = 1
        self._last_sent: dict[bytes, int] = {}
        self._last_received: dict[bytes, int] = {}
        self._alive: dict[bytes, float] = {}
        self._queue: list[tuple[bytes, int, list[int], bytes]] = []
        self._flushing = False
        self._outgoing: deque[tuple[str, bytes]] = deque()
        self._ready = asyncio.Event()
        self._served: dict[str, Any] = {}
        self._ended_rooms: set[str] = set()
        self._closed = False

    @property
    def connected(self) -> bool:
        """Whether NATS can be reached."""
        return bool(self._client.is_connected)

    async def connect(self, address: str) -> None:
        """Connect to NATS; raises ``PiError`` if that is not possible."""
        try:
            # Without the limit it would try for ever, as it does later when the server restarts.
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._client.connect(
                    address,
                    name="pi relay",
                    connect_timeout=5,
                    allow_reconnect=True,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=1,
                    ping_interval=5,
                    max_outstanding_pings=2,
                    pending_size=MAX_PENDING,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnect,
                )
        except (OSError, NatsError, TimeoutError) as error:
            with suppress(NatsError, OSError):
                await self._client.close()
            raise PiError(
                f"NATS cannot be reached at {address}: {str(error) or 'no answer'}",
                hint="Start nats-server, or leave out --cluster.",
            ) from error
        needed = self._rooms.limits.frame_bytes + HEADROOM
        if self._client.max_payload < needed:
            await self._client.close()
            raise PiError(
                f"NATS allows messages of {self._client.max_payload} bytes; the relay needs"
                f" {needed}.",
                hint="Raise max_payload in the configuration of nats-server.",
            )
        await self._client.subscribe(f"pi.relay.process.{self.id.hex()}", cb=self._on_message)
        await self._client.subscribe("pi.relay.alive", cb=self._on_alive)
        await self._client.subscribe("pi.relay.moved", cb=self._on_moved)
        await self._client.flush()
        self._tasks.start(self._beat(), name="cluster")
        self._tasks.start(self._publish(), name="cluster messages")

    async def close(self) -> None:
        """Leave the cluster; the others notice at once."""
        self._closed = True
        self.flush()
        await asyncio.sleep(0)  # lets the last messages out
        try:
            await self._client.publish("pi.relay.alive", self.id + b"-")
            await self._client.flush(timeout=1)
            await self._client.close()
        except (NatsError, OSError, TimeoutError):
            pass

    # Rooms of this process ------------------------------------------------------------------------

    async def claim(self, room_id: str, takeover: bytes) -> None:
        """Take a room from another process, if it is there; raises ``Refused``."""
        answer = await self._ask(room_id, b"H" + takeover)
        if answer == b"no":
            raise Refused(HOST_EXISTS, "the room has another host")

    async def serve(self, room_id: str) -> None:
        """Subscribe to the subject of a room that is about to be opened here."""
        if room_id not in self._served:

            async def answer(message: Msg) -> None:
                # No answer if the room is not here: while it moves, two processes are asked, and
                # the first answer counts.
                if (room := self._rooms.find(room_id)) is not None:
                    await message.respond(self._answer_question(room, message.data))

            subject = f"pi.relay.room.{room_id}"
            self._served[room_id] = await self._client.subscribe(subject, cb=answer)
            # Guests may come as soon as the host has its answer: NATS must have the subscription
            # by then.
            await self._client.flush()
        await self._client.publish("pi.relay.moved", self.id + room_id.encode())

    def _answer_question(self, room: Room, question: bytes) -> bytes:
        kind, content = question[:1], question[1:]
        if kind == b"H":
            return self._release(room, content)
        process, visitor = content[:8], int.from_bytes(content[8:16], "big")
        if process == self.id:  # the room was opened here a moment ago
            return b"here"
        guest = RemoteGuest(self, process, visitor)
        try:
            membership = self._rooms.join(room.id, guest)
        except Refused as refusal:
            return json.dumps([refusal.code, refusal.reason]).encode()
        guest.membership = membership
        self._guests[process, visitor] = guest
        self._alive.setdefault(process, time.monotonic())
        return b"ok" + self.id

    def _release(self, room: Room, takeover: bytes) -> bytes:
        """Give a room to another process, if its host has presented the takeover secret there."""
        if not hmac.compare_digest(hashlib.sha256(takeover).digest(), room.takeover):
            return b"no"
        old, room.host = room.host, None
        if old is not None:
            old.close(HOST_EXISTS, "taken over by a new connection of the host")
        self._rooms.move_away(room)
        return b"yes"

    # Guests at this process -----------------------------------------------------------------------

    async def visit(self, room_id: str, socket: Connection) -> Visit | None:
        """Connect a guest to a room at another process; raises ``Refused``.

        Returns ``None`` if the room is here.
        """
        visitor, self._next_visitor = self._next_visitor, self._next_visitor + 1
        # Registered first: the owner may send to it before its answer is here.
        visit = Visit(self, b"", visitor, socket)
        self._visits[visitor] = visit
        try:
            answer = await self._ask(room_id, b"G" + self.id + _VISITOR.pack(visitor))
            if answer is None:
                raise Refused(NO_ROOM, "no such room")
            if answer == b"here":
                del self._visits[visitor]
                return None
            if not answer.startswith(b"ok"):
                code, reason = json.loads(answer)
                raise Refused(code, reason)
        except BaseException:
            self._visits.pop(visitor, None)
            raise
        visit.owner = answer[2:]
        self._alive.setdefault(visit.owner, time.monotonic())
        return visit

    def visit_ended(self, visit: Visit) -> None:
        """Report the end of a visitor's socket to the owner of the room."""
        if self._visits.pop(visit.visitor, None) is not None:
            self.queue(visit.owner, _LEFT, visit.visitor, b"")

    async def _ask(self, room_id: str, question: bytes) -> bytes | None:
        """The response of the owner of a room; ``None`` without an owner. Raises ``Refused``."""
        if not self.connected:
            raise Refused(RESTARTING, "NATS is not connected")
        try:
            answer = await self._client.request(
                f"pi.relay.room.{room_id}", question, timeout=ASK_SECONDS
            )
        except NoRespondersError:
            return None
        except (NatsError, OSError, TimeoutError) as error:
            raise Refused(RESTARTING, "the other relay processes do not answer") from error
        return bytes(answer.data)

    # Messages -------------------------------------------------------------------------------------

    def queue(self, process: bytes, kind: int, visitor: int, content: bytes) -> None:
        """Send with the next flush, which is at the end of this step of the event loop."""
        if self._closed and kind != _CLOSE:
            return
        last = self._queue[-1] if self._queue else None
        if last is not None and last[0] == process and last[1] == kind and last[3] is content:
            last[2].append(visitor)
        else:
            self._queue.append((process, kind, [visitor], content))
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Publish the queued messages."""
        self._flushing = False
        queued, self._queue = self._queue, []
        if not queued:
            return
        if self._client.pending_data_size > MAX_PENDING // 2:
            self._report("NATS does not take messages fast enough; visitors are disconnected.")
            self._sever()
            return
        messages = []
        for process, kind, visitors, content in queued:
            number = self._last_sent[process] = self._last_sent.get(process, 0) + 1
            head = _HEAD.pack(self.id, number, kind, 0, len(visitors))
            ids = b"".join(map(_VISITOR.pack, visitors))
            messages.append((f"pi.relay.process.{process.hex()}", head + ids + content))
        self._outgoing.extend(messages)
        self._ready.set()

    async def _publish(self) -> None:
        """One task for all messages: they must leave in the order of their numbers."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._outgoing:
                subject, data = self._outgoing.popleft()
                # A loss leaves a gap in the numbers, which the receiver notices.
                with suppress(NatsError, OSError):
                    await self._client.publish(subject, data)

    async def _on_message(self, message: Msg) -> None:
        data = message.data
        if len(data) < _HEAD.size:
            return
        sender, number, kind, _, count = _HEAD.unpack_from(data)
        start = _HEAD.size + count * _VISITOR.size
        visitors = [visitor for (visitor,) in _VISITOR.iter_unpack(data[_HEAD.size : start])]
        content = data[start:]
        expected = self._last_received.get(sender, 0) + 1
        self._last_received[sender] = number
        self._alive[sender] = time.monotonic()
        if number != expected:
            self._on_gap(sender)
        for visitor in visitors:
            self._dispatch(sender, kind, visitor, content)

    def _dispatch(self, sender: bytes, kind: int, visitor: int, content: bytes) -> None:
        if kind in (_FROM_GUEST, _LEFT):
            guest = self._guests.get((sender, visitor))
            if guest is None or guest.membership is None:
                return
            if kind == _FROM_GUEST:
                self._rooms.from_guest(*guest.membership, content)
            else:
                del self._guests[sender, visitor]
                self._rooms.guest_left(*guest.membership)
            return
        visit = self._visits.get(visitor)
        if visit is None or visit.owner not in (b"", sender):
            return
        if kind == _DATA:
            if visit.socket.unsent > self._rooms.limits.unsent_bytes:
                self._end_visit(visit, STALLED, "more than 1 MB is unsent")
                self.queue(sender, _LEFT, visitor, b"")
            else:
                visit.socket.send(content)
        elif kind == _TEXT:
            visit.socket.send_text(content.decode())
        elif kind == _GAP:
            visit.socket.send_text('{"type":"gap"}')
        else:
            code, reason = json.loads(content)
            self._end_visit(visit, code, reason)

    def _end_visit(self, visit: Visit, code: int, reason: str) -> None:
        self._visits.pop(visit.visitor, None)
        visit.socket.close(code, reason)

    # Losses ---------------------------------------------------------------------------------------

    def _on_gap(self, sender: bytes) -> None:
        """Messages of a process are lost: every pair of ends between us resynchronises."""
        for visit in list(self._visits.values()):
            if visit.owner == sender:
                visit.socket.send_text('{"type":"gap"}')
        for process, visitor in list(self._guests):
            if process == sender:
                self.queue(process, _GAP, visitor, b"")

    async def _beat(self) -> None:
        while True:
            with suppress(NatsError, OSError):
                await self._client.publish("pi.relay.alive", self.id + b"+")
            await asyncio.sleep(BEAT_SECONDS)
            oldest = time.monotonic() - SILENT_SECONDS
            for process, timestamp in list(self._alive.items()):
                if timestamp < oldest:
                    self._drop_process(process)
            await self._forget_rooms()

    async def _forget_rooms(self) -> None:
        """Unsubscribe from the subjects of rooms that have ended."""
        ended = {room_id for room_id in self._served if self._rooms.find(room_id) is None}
        # Twice in a row: a room that is being opened is not there yet.
        for room_id in ended & self._ended_rooms:
            subscription = self._served.pop(room_id)
            with suppress(NatsError, OSError):
                await subscription.unsubscribe()
        self._ended_rooms = ended - self._ended_rooms

    async def _on_alive(self, message: Msg) -> None:
        process, state = message.data[:8], message.data[8:]
        if process == self.id:
            return
        if state == b"-":
            self._drop_process(process)
        elif process in self._alive:  # only processes that we exchange messages with
            self._alive[process] = time.monotonic()

    async def _on_moved(self, message: Msg) -> None:
        """A room was opened at another process: drop it here if its host has left."""
        process, room_id = message.data[:8], message.data[8:].decode("ascii", "replace")
        if process == self.id:
            return
        room = self._rooms.find(room_id)
        if room is not None and room.host is None:  # the host came back elsewhere
            self._rooms.move_away(room)

    def _drop_process(self, process: bytes) -> None:
        for table in (self._alive, self._last_received, self._last_sent):
            table.pop(process, None)
        for visit in list(self._visits.values()):
            if visit.owner == process:
                self._end_visit(visit, RESTARTING, "the relay process of the host has ended")
        for key, guest in list(self._guests.items()):
            if key[0] == process:
                del self._guests[key]
                if guest.membership is not None:
                    self._rooms.guest_left(*guest.membership)

    def _sever(self) -> None:
        for process in {visit.owner for visit in self._visits.values()} | {
            process for process, _ in self._guests
        }:
            self._drop_process(process)

    async def _on_disconnect(self) -> None:
        if not self._closed:
            self._report("The connection to NATS was lost; trying again.")
            self._sever()

    async def _on_error(self, error: Exception) -> None:
        if not self._closed:
            self._report(f"NATS: {error}")
