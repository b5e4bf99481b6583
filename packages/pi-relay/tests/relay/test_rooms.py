"""Rooms of the relay: access, forwarding and limits."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pi.relay.limits import AddressLimits, Limits
from pi.relay.metrics import Metrics
from pi.relay.rooms import (
    CLOSED,
    FLOODING,
    FULL,
    HOST_EXISTS,
    NO_ROOM,
    STALLED,
    TOO_BIG,
    Refused,
    Rooms,
)

SECRET = b"secret of the host"
HASH = hashlib.sha256(SECRET).digest()


class FakeConnection:
    """Records the frames and texts that are sent to it."""

    def __init__(self) -> None:
        self.unsent = 0
        self.frames: list[bytes] = []
        self.texts: list[dict[str, Any]] = []
        self.codes: list[int] = []

    def send(self, data: bytes) -> None:
        self.frames.append(data)

    def send_text(self, text: str) -> None:
        self.texts.append(json.loads(text))

    def close(self, code: int, reason: str) -> None:
        self.codes.append(code)

    @property
    def closed(self) -> int | None:
        return self.codes[0] if self.codes else None


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rooms(clock: Clock | None = None, **limits: Any) -> Rooms:
    return Rooms(Limits(**limits), Metrics(), clock or Clock())


def frame(peer: int, text: bytes = b"x" * 60) -> bytes:
    return peer.to_bytes(4, "big") + text


def opened(all_rooms: Rooms) -> tuple[Any, FakeConnection]:
    host = FakeConnection()
    room = all_rooms.open("r", host, takeover_hash=HASH)
    assert host.texts.pop() == {"type": "room-open"}
    return room, host


def test_frames_are_sent_to_one_guest_or_all_and_carry_the_id_of_their_guest() -> None:
    all_rooms = rooms()
    room, host = opened(all_rooms)
    first, second = FakeConnection(), FakeConnection()
    _, one = all_rooms.join("r", first)
    _, two = all_rooms.join("r", second)
    assert host.texts == [{"type": "peer-joined", "peer": 1}, {"type": "peer-joined", "peer": 2}]
    assert first.texts == [{"type": "host-joined"}]
    all_rooms.from_host(room, host, frame(0))
    all_rooms.from_host(room, host, frame(2))
    all_rooms.from_host(room, host, frame(9))
    assert first.frames == [frame(0)]
    assert second.frames == [frame(0), frame(2)]
    all_rooms.from_guest(room, two, frame(one.peer))
    assert host.frames == [frame(2)], "a guest cannot use the id of another one"


def test_ids_of_guests_are_never_used_again() -> None:
    all_rooms = rooms()
    room, host = opened(all_rooms)
    _, one = all_rooms.join("r", FakeConnection())
    all_rooms.guest_left(room, one)
    _, two = all_rooms.join("r", FakeConnection())
    assert (one.peer, two.peer) == (1, 2)
    all_rooms.from_guest(room, one, frame(0))
    assert host.frames == [], "who has left cannot send"


@pytest.mark.behaviour("a-host-takes-its-room-over-by-proof")
def test_only_a_client_with_the_takeover_secret_can_take_over_a_room() -> None:
    all_rooms = rooms()
    room, host = opened(all_rooms)
    guest = FakeConnection()
    all_rooms.join("r", guest)
    for wrong in (b"", b"other", HASH):
        with pytest.raises(Refused) as refused:
            all_rooms.open("r", FakeConnection(), takeover_hash=HASH, takeover=wrong)
        assert refused.value.code == HOST_EXISTS
    assert room.host is host
    all_rooms.host_left(room, host)
    with pytest.raises(Refused):  # a room without a host is not free either
        all_rooms.open("r", FakeConnection(), takeover_hash=b"1" * 32)
    again = FakeConnection()
    assert all_rooms.open("r", again, takeover_hash=HASH, takeover=SECRET) is room
    assert again.texts == [{"type": "room-open"}, {"type": "peer-joined", "peer": 1}]
    assert [each["type"] for each in guest.texts] == ["host-joined", "host-left", "host-joined"]


def test_a_half_open_connection_of_the_host_is_replaced() -> None:
    all_rooms = rooms()
    room, host = opened(all_rooms)
    guest = FakeConnection()
    all_rooms.join("r", guest)
    again = FakeConnection()
    all_rooms.open("r", again, takeover_hash=HASH, takeover=SECRET)
    assert host.closed == HOST_EXISTS
    all_rooms.from_host(room, host, frame(0))
    all_rooms.host_left(room, host)
    assert guest.frames == []
    assert room.host is again


def test_a_room_without_a_host_is_closed_after_the_grace_period() -> None:
    clock = Clock()
    all_rooms = rooms(clock, grace_seconds=60)
    room, host = opened(all_rooms)
    guest = FakeConnection()
    all_rooms.join("r", guest)
    all_rooms.host_left(room, host)
    clock.now = 59
    all_rooms.expire()
    assert guest.codes == []
    clock.now = 61
    all_rooms.expire()
    assert guest.codes == [CLOSED]
    assert guest.texts[-1] == {"type": "room-closed"}
    with pytest.raises(Refused) as refused:
        all_rooms.join("r", FakeConnection())
    assert refused.value.code == NO_ROOM


def test_only_the_host_can_close_its_room() -> None:
    all_rooms = rooms()
    room, host = opened(all_rooms)
    guest = FakeConnection()
    all_rooms.join("r", guest)
    all_rooms.host_text(room, FakeConnection(), '{"type":"close"}')
    for text in ("{", "[]", "[" * 900, '{"type":1}', '{"type":"close"' + " " * 2000 + "}"):
        all_rooms.host_text(room, host, text)
    assert guest.codes == []
    all_rooms.host_text(room, host, '{"type":"close"}')
    assert (guest.closed, host.closed, len(all_rooms)) == (CLOSED, CLOSED, 0)


@pytest.mark.behaviour("a-guest-that-does-not-read-is-disconnected")
def test_only_a_guest_that_does_not_read_is_disconnected() -> None:
    all_rooms = rooms(unsent_bytes=1000)
    room, host = opened(all_rooms)
    slow, other = FakeConnection(), FakeConnection()
    all_rooms.join("r", slow)
    all_rooms.join("r", other)
    slow.unsent = 1001
    all_rooms.from_host(room, host, frame(0))
    assert (slow.closed, slow.frames) == (STALLED, [])
    assert other.frames == [frame(0)]
    assert host.texts[-1] == {"type": "peer-left", "peer": 1}


def test_limits_hold_under_a_flood() -> None:
    clock = Clock()
    all_rooms = rooms(
        clock, guests_per_room=2, guest_messages_per_second=10, rooms=3, rooms_per_address=2
    )
    room, host = opened(all_rooms)
    flooding = FakeConnection()
    _, guest = all_rooms.join("r", flooding)
    for _ in range(1000):
        all_rooms.from_guest(room, guest, frame(0))
    assert len(host.frames) == 40  # four seconds' worth at once
    assert flooding.closed == FLOODING
    for _ in range(2):
        all_rooms.join("r", FakeConnection())
    with pytest.raises(Refused) as refused:
        all_rooms.join("r", FakeConnection())
    assert refused.value.code == FULL
    for name in "ab":
        all_rooms.open(name, FakeConnection(), takeover_hash=HASH, address="1.2.3.4")
    with pytest.raises(Refused):
        all_rooms.open("c", FakeConnection(), takeover_hash=HASH, address="1.2.3.4")
    with pytest.raises(Refused):
        all_rooms.open("d", FakeConnection(), takeover_hash=HASH, address="5.6.7.8")


def test_frames_that_are_too_large_or_too_small_are_not_forwarded() -> None:
    all_rooms = rooms(frame_bytes=1000)
    room, host = opened(all_rooms)
    connection = FakeConnection()
    _, guest = all_rooms.join("r", connection)
    all_rooms.from_guest(room, guest, b"")
    all_rooms.from_guest(room, guest, b"\0" * 57)
    assert (connection.closed, host.frames) == (None, [])
    all_rooms.from_guest(room, guest, b"\0" * 1001)
    assert (connection.closed, host.frames) == (TOO_BIG, [])


def test_a_host_that_does_not_read_is_disconnected_and_may_come_back() -> None:
    all_rooms = rooms(host_unsent_bytes=10)
    room, host = opened(all_rooms)
    _, guest = all_rooms.join("r", FakeConnection())
    host.unsent = 11
    all_rooms.from_guest(room, guest, frame(0))
    assert (host.closed, room.host) == (STALLED, None)
    all_rooms.open("r", FakeConnection(), takeover_hash=HASH, takeover=SECRET)


def test_limits_per_address_are_enforced_and_idle_addresses_are_forgotten() -> None:
    clock = Clock()
    limits = Limits(connections_per_address=2, joins_per_minute=60, shares_per_hour=1)
    addresses = AddressLimits(limits, clock)
    assert [addresses.connect("a") for _ in range(3)] == [True, True, False]
    assert addresses.connect("b")
    addresses.disconnect("a")
    assert addresses.connect("a")
    assert [addresses.share("a"), addresses.share("a"), addresses.share("b")] == [True, False, True]
    for number in range(10_000):
        addresses.connect(f"x{number}")
        addresses.disconnect(f"x{number}")
    for name in "aab":
        addresses.disconnect(name)
    clock.now = 4000
    addresses.forget_idle()
    assert len(addresses) == 0, "a flood of addresses leaves nothing behind"


def test_new_connections_of_an_address_are_limited_per_minute() -> None:
    clock = Clock()
    addresses = AddressLimits(Limits(joins_per_minute=60), clock)
    allowed = 0
    for _ in range(100):
        allowed += addresses.connect("a")
        addresses.disconnect("a")
    assert allowed == 60
    clock.now = 1
    assert addresses.connect("a")
