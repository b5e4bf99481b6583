"""A host and guests without a network: a relay as a function call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pi.batteries.collab.guest_room import FrameReceived, GuestRoom, SnapshotReceived
from pi.batteries.collab.host_room import GuestPeer, HostRoom, Request
from pi.batteries.collab.sealing import Keys
from pi.batteries.collab.snapshots import snapshot_body
from pi.extension import Json

KEYS = Keys(room=bytes(range(16)), key=bytes(range(32)), token=bytes(range(16)))


class Time:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Seat:
    """A guest and the frames that it received."""

    def __init__(self, peer: int, room: GuestRoom) -> None:
        self.peer = peer
        self.room = room
        self.snapshots: list[SnapshotReceived] = []
        self.frames: list[Json] = []

    def kinds(self) -> list[str]:
        return [frame["t"] for frame in self.frames]


class Table:
    """A host, a relay and guests; ``log`` has every byte that the relay saw."""

    def __init__(self, keys: Keys = KEYS, entries: tuple[Json, ...] = ()) -> None:
        self.keys = keys
        self.time = Time()
        self.host = HostRoom(keys, name="Hanna", now=self.time)
        self.host.on_hello = self._greet
        self.host.on_change = lambda peer, change: self.changes.append((peer.name, change))
        self.changes: list[tuple[str, str]] = []
        self.entries = list(entries)
        self.requests: list[Request] = []
        self.while_encoding: list[Json] = []
        """Broadcast between the snapshot and its welcome."""
        self.seats: dict[int, Seat] = {}
        self.log: list[bytes] = []
        self.to_guests: list[bytes] = []
        self.to_host: list[bytes] = []
        self._next = 1
        self.host.connected()

    def _greet(self, peer: GuestPeer) -> None:
        have = peer.have
        left_out = 0
        if have is not None and have.session == "s1":
            known = self.entries[have.count - 1 : have.count]
            left_out = have.count if known and known[0]["id"] == have.last else 0
        about = {"header": {"type": "session", "id": "s1", "cwd": "/x"}, "leafId": None}
        lines = [json.dumps(entry).encode() for entry in self.entries[left_out:]]
        body = snapshot_body(about, lines)
        mark = self.host.mark()
        for late in self.while_encoding:
            self.host.broadcast(late)
        nonce = peer.nonce
        self.host.welcome(peer, body, mark, nonce=nonce, session="s1", left_out=left_out)

    def seat(self, keys: Keys | None = None, name: str = "Gus") -> Seat:
        """A guest who has just connected."""
        room = GuestRoom(keys or self.keys, name=name, now=self.time)
        seat = Seat(self._next, room)
        self._next += 1
        self.seats[seat.peer] = seat
        room.connected()
        self.host.relay_text(json.dumps({"type": "peer-joined", "peer": seat.peer}))
        room.relay_text('{"type":"host-joined"}')
        return seat

    def join(self, keys: Keys | None = None, name: str = "Gus") -> Seat:
        """A guest who is live."""
        seat = self.seat(keys, name)
        self.settle()
        assert seat.room.state == "live"
        return seat

    def leave(self, seat: Seat) -> None:
        del self.seats[seat.peer]
        self.host.relay_text(json.dumps({"type": "peer-left", "peer": seat.peer}))

    def settle(self, tamper: Callable[[str, bytes], list[bytes]] | None = None) -> None:
        """Deliver all frames; ``tamper`` is a relay that may drop, change or add frames."""
        change = tamper or (lambda direction, data: [data])
        moved = True
        while moved:
            moved = False
            for seat in list(self.seats.values()):
                while seat.room.outgoing:
                    moved = True
                    sent = seat.peer.to_bytes(4, "big") + seat.room.outgoing.popleft()[4:]
                    self.log.append(sent)
                    for data in change("guest", sent):
                        self.deliver_to_host(data)
            while (frame := self.host.next_frame()) is not None:
                moved = True
                self.log.append(frame)
                for data in change("host", frame):
                    self.deliver_to_guests(data)

    def deliver_to_host(self, data: bytes) -> Any:
        self.to_host.append(data)
        request = self.host.receive(data)
        if request is not None:
            self.requests.append(request)
        return request

    def deliver_to_guests(self, data: bytes) -> None:
        self.to_guests.append(data)
        target = int.from_bytes(data[:4], "big")
        for seat in list(self.seats.values()):
            if target in (0, seat.peer):
                self.deliver(seat, data)

    def deliver(self, seat: Seat, data: bytes) -> None:
        for update in seat.room.receive(data):
            match update:
                case SnapshotReceived():
                    seat.snapshots.append(update)
                case FrameReceived(frame=frame):
                    seat.frames.append(frame)

    def say(self, **frame: Any) -> None:
        """Broadcast a frame."""
        self.host.broadcast(frame)
