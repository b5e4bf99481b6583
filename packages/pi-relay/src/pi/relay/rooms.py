"""Rooms: their connections, and the routing of frames. No network: connections are passed in.

Rooms call ``send``, ``send_text`` and ``close`` of a connection, which never wait.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, Final, Protocol

from pi.relay.limits import Bucket, Limits
from pi.relay.metrics import Metrics

CLOSED: Final = 4001
NO_ROOM: Final = 4004
FLOODING: Final = 4008
HOST_EXISTS: Final = 4009
FULL: Final = 4029
TOO_BIG: Final = 1009
RESTARTING: Final = 1012
STALLED: Final = 1013

_PEER = Struct(">I")
MIN_FRAME: Final = 58
"""Bytes of head, IV and tag: shorter data cannot be a frame."""


class Connection(Protocol):
    """A WebSocket, local or at another relay process."""

    @property
    def unsent(self) -> int:
        """Bytes that the other side has not taken yet."""
        ...

    def send(self, data: bytes) -> None:
        """Send a binary message."""
        ...

    def send_text(self, text: str) -> None:
        """Send a text message."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Close it; nothing is sent afterwards."""
        ...


class Refused(Exception):
    """A connection that is not accepted, with its close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Guest:
    """A guest in a room."""

    __slots__ = ("_bytes", "_messages", "connection", "peer")

    def __init__(self, peer: int, connection: Connection, limits: Limits, now: float) -> None:
        self.peer = peer
        self.connection = connection
        rate, size = limits.guest_messages_per_second, limits.guest_bytes_per_second
        self._messages = Bucket(rate, rate * 4, now)
        self._bytes = Bucket(size, size * 2, now)

    def allows(self, size: int, now: float) -> bool:
        """Count a message; returns False if there are too many."""
        return self._messages.take(1, now) and self._bytes.take(size, now)


class Room:
    """One shared session."""

    __slots__ = (
        "_bytes",
        "_messages",
        "_next_peer",
        "address",
        "guests",
        "host",
        "id",
        "takeover",
        "without_host_since",
    )

    def __init__(self, id: str, takeover: bytes, address: str, limits: Limits, now: float) -> None:
        self.id = id
        self.takeover = takeover
        """SHA-256 of the secret of its host."""
        self.address = address
        self.host: Connection | None = None
        self.guests: dict[int, Guest] = {}
        self.without_host_since: float | None = None
        self._next_peer = 1
        rate, size = limits.host_messages_per_second, limits.host_bytes_per_second
        self._messages = Bucket(rate, rate * 2, now)
        self._bytes = Bucket(size, size * 2, now)

    def new_peer(self) -> int:
        """An id that no guest of this room ever had."""
        peer, self._next_peer = self._next_peer, self._next_peer + 1
        return peer

    def allows(self, size: int, now: float) -> bool:
        """Count a message of the host; returns False if there are too many."""
        return self._messages.take(1, now) and self._bytes.take(size, now)


class Rooms:
    """All rooms of this process."""

    def __init__(self, limits: Limits, metrics: Metrics, now: Callable[[], float]) -> None:
        self.limits = limits
        self._metrics = metrics
        self._now = now
        self._rooms: dict[str, Room] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    def __iter__(self) -> Iterator[Room]:
        return iter(list(self._rooms.values()))

    def find(self, id: str) -> Room | None:
        """The room with that id."""
        return self._rooms.get(id)

    # Hosts ----------------------------------------------------------------------------------------

    def open(
        self,
        id: str,
        connection: Connection,
        *,
        takeover_hash: bytes,
        takeover: bytes = b"",
        address: str = "",
    ) -> Room:
        """Let a host open a room, or take over its own; raises ``Refused``."""
        if len(takeover_hash) != 32:
            raise Refused(HOST_EXISTS, "the host must register the hash of a takeover secret")
        room = self._rooms.get(id)
        if room is None:
            room = self._create(id, takeover_hash, address)
        else:
            # Also while the room has no host: its id alone must not suffice to become the host.
            digest = hashlib.sha256(takeover).digest()
            if not hmac.compare_digest(digest, room.takeover):
                raise Refused(HOST_EXISTS, "the room has another host")
            old, room.host = room.host, None
            if old is not None:  # perhaps half open: the host is here now
                old.close(HOST_EXISTS, "taken over by a new connection of the host")
        room.host, room.without_host_since = connection, None
        self._to_host(room, {"type": "room-open"})
        for guest in list(room.guests.values()):
            self._to_host(room, {"type": "peer-joined", "peer": guest.peer})
            self._notify(guest.connection, {"type": "host-joined"})
        return room

    def host_left(self, room: Room, connection: Connection) -> None:
        """Handle the end of a host's connection; its room waits for it."""
        if room.host is not connection:  # taken over meanwhile
            return
        room.host, room.without_host_since = None, self._now()
        for guest in list(room.guests.values()):
            self._notify(guest.connection, {"type": "host-left"})

    def close(self, room: Room, reason: str = "the host has stopped sharing") -> None:
        """End a room and disconnect its guests."""
        if self._rooms.get(room.id) is room:
            del self._rooms[room.id]
        guests, room.guests = list(room.guests.values()), {}
        for guest in guests:
            self._notify(guest.connection, {"type": "room-closed"})
            guest.connection.close(CLOSED, reason)
        host, room.host = room.host, None
        if host is not None:
            host.close(CLOSED, reason)

    def move_away(self, room: Room) -> None:
        """Remove a room that is at another process now: its guests have to connect again."""
        if self._rooms.get(room.id) is room:
            del self._rooms[room.id]
        guests, room.guests = list(room.guests.values()), {}
        for guest in guests:
            guest.connection.close(RESTARTING, "the room has moved")

    def expire(self) -> None:
        """Close the rooms whose host did not come back."""
        oldest = self._now() - self.limits.grace_seconds
        for room in self:
            since = room.without_host_since
            if since is not None and since <= oldest:
                self.close(room, "the host did not come back")

    def from_host(self, room: Room, connection: Connection, data: bytes) -> None:
        """Forward a frame of the host; drops it if the connection was replaced."""
        if room.host is not connection:
            return
        if not self._fits(connection, data):
            return
        if not room.allows(len(data), self._now()):
            connection.close(FLOODING, "too many messages")
            return
        (peer,) = _PEER.unpack_from(data)
        if peer == 0:
            for guest in list(room.guests.values()):
                self._deliver(room, guest, data)
        elif (target := room.guests.get(peer)) is not None:
            self._deliver(room, target, data)

    def host_text(self, room: Room, connection: Connection, text: str) -> None:
        """Handle a text message of the host, which may close the room."""
        if room.host is connection and _type_of(text) == "close":
            self.close(room)

    # Guests ---------------------------------------------------------------------------------------

    def join(self, id: str, connection: Connection) -> tuple[Room, Guest]:
        """Let a guest into a room; raises ``Refused``."""
        room = self._rooms.get(id)
        if room is None:
            raise Refused(NO_ROOM, "no such room")
        if len(room.guests) >= self.limits.guests_per_room:
            raise Refused(FULL, "the room is full")
        guest = Guest(room.new_peer(), connection, self.limits, self._now())
        room.guests[guest.peer] = guest
        kind = "host-left" if room.host is None else "host-joined"
        self._notify(connection, {"type": kind})
        self._to_host(room, {"type": "peer-joined", "peer": guest.peer})
        return room, guest

    def guest_left(self, room: Room, guest: Guest) -> None:
        """Handle the end of a guest's connection."""
        if room.guests.get(guest.peer) is guest:
            del room.guests[guest.peer]
            self._to_host(room, {"type": "peer-left", "peer": guest.peer})

    def from_guest(self, room: Room, guest: Guest, data: bytes) -> None:
        """Forward a frame of a guest under the id that it has here."""
        if room.guests.get(guest.peer) is not guest or not self._fits(guest.connection, data):
            return
        if not guest.allows(len(data), self._now()):
            self._metrics.refused("flood")
            self._drop(room, guest, FLOODING, "too many messages")
            return
        host = room.host
        if host is None:
            return
        if host.unsent > self.limits.host_unsent_bytes:
            self._metrics.refused("stalled_host")
            host.close(STALLED, "the host does not read")
            self.host_left(room, host)
            return
        host.send(_PEER.pack(guest.peer) + data[4:])
        self._metrics.delivered(len(data))

    def _deliver(self, room: Room, guest: Guest, data: bytes) -> None:
        if guest.connection.unsent > self.limits.unsent_bytes:
            self._metrics.refused("stalled_guest")
            self._drop(room, guest, STALLED, "more than 1 MB is unsent")
            return
        guest.connection.send(data)
        self._metrics.delivered(len(data))

    def _drop(self, room: Room, guest: Guest, code: int, reason: str) -> None:
        guest.connection.close(code, reason)
        self.guest_left(room, guest)

    # ----------------------------------------------------------------------------------------------

    def _create(self, id: str, takeover_hash: bytes, address: str) -> Room:
        if len(self._rooms) >= self.limits.rooms:
            raise Refused(FULL, "the relay has too many rooms")
        own = sum(1 for room in self._rooms.values() if room.address == address)
        if address and own >= self.limits.rooms_per_address:
            raise Refused(FULL, "this address has too many rooms")
        room = Room(id, takeover_hash, address, self.limits, self._now())
        self._rooms[id] = room
        return room

    def _fits(self, connection: Connection, data: bytes) -> bool:
        if len(data) > self.limits.frame_bytes:
            self._metrics.refused("too_big")
            connection.close(TOO_BIG, f"a frame has at most {self.limits.frame_bytes} bytes")
            return False
        if len(data) < MIN_FRAME:
            self._metrics.refused("bad_frame")
            return False
        return True

    def _to_host(self, room: Room, message: dict[str, Any]) -> None:
        if room.host is not None:
            self._notify(room.host, message)

    def _notify(self, connection: Connection, message: dict[str, Any]) -> None:
        connection.send_text(json.dumps(message, separators=(",", ":")))


def _type_of(text: str) -> str:
    if len(text) > 1000:
        return ""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = message.get("type") if isinstance(message, dict) else None
    return kind if isinstance(kind, str) else ""
