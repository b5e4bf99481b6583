"""Host and guest rooms: joining, order, resynchronising, large frames, overload."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.collab.guest_room import CannotWrite, VersionRefused
from pi.batteries.collab.host_room import MAX_BAD_FRAMES
from pi.batteries.collab.outbox import (
    ADVISORY,
    MESSAGE_UPDATE,
    PEER_LIMIT,
    TOOL_UPDATE,
    Outbox,
    Outgoing,
)
from pi.batteries.collab.sealing import FROM_GUEST, NO_EPOCH, Sealer
from pi.batteries.collab.snapshots import Assembler, Body, parse_snapshot
from pi.batteries.collab.wire import (
    CHUNK,
    BadContent,
    clean_name,
    depth_exceeds,
    encode,
    entry_line,
)
from tests.batteries.collab.rooms import KEYS, Table

ENTRIES = tuple({"id": f"e{number}", "text": "é" * 100} for number in range(20))


def test_a_guest_receives_the_snapshot_and_then_later_frames() -> None:
    table = Table(entries=ENTRIES)
    seat = table.join()
    (first,) = seat.snapshots
    assert [json.loads(line) for line in first.snapshot.entries] == list(ENTRIES)
    assert first.session == "s1"
    table.say(t="leaf", leafId="e3")
    table.say(t="entry", entry={"id": "e20"})
    table.settle()
    assert seat.frames == [{"t": "leaf", "leafId": "e3"}, {"t": "entry", "entry": {"id": "e20"}}]
    assert table.changes == [("Gus", "joined")]
    assert [(p.name, p.role) for p in table.host.participants] == [
        ("Hanna", "host"),
        ("Gus", "full"),
    ]


@pytest.mark.behaviour("snapshots-stream-in-order")
def test_a_large_snapshot_is_streamed_in_order_beside_broadcasts() -> None:
    big = {"id": "big", "text": "x" * (3 * CHUNK)}
    table = Table(entries=(*ENTRIES, big))
    early = table.join(name="Early")
    late = table.seat(name="Late")
    chunks = 0

    def relay(direction: str, data: bytes) -> list[bytes]:
        nonlocal chunks
        if direction == "host" and len(data) > CHUNK:
            chunks += 1
            table.say(t="leaf", leafId=f"after {chunks}")
        return [data]

    table.settle(relay)
    assert chunks == 3
    assert [frame["leafId"] for frame in early.frames] == [f"after {n}" for n in range(1, 4)]
    assert late.frames == early.frames, "what was broadcast meanwhile comes after the snapshot"
    assert json.loads(late.snapshots[0].snapshot.entries[-1]) == big


@pytest.mark.behaviour("snapshots-stream-in-order")
def test_a_snapshot_is_cancelled_when_its_guest_leaves() -> None:
    table = Table(entries=({"id": "big", "text": "x" * (20 * CHUNK)},))
    early = table.join(name="Early")
    late = table.seat(name="Late")
    left = False

    def relay(direction: str, data: bytes) -> list[bytes]:
        nonlocal left
        if direction == "host" and len(data) > CHUNK and not left:
            left = True
            table.leave(late)
            table.say(t="leaf", leafId="on")
        return [data]

    before = len(table.log)
    table.settle(relay)
    assert early.frames == [{"t": "leaf", "leafId": "on"}]
    assert len(table.log) - before < 10, "the rest of the snapshot is not sent"


def test_a_broadcast_during_the_encoding_of_a_snapshot_is_not_lost() -> None:
    table = Table(entries=ENTRIES)
    table.join(name="Early")
    table.say(t="leaf", leafId="in the snapshot")
    table.while_encoding = [{"t": "leaf", "leafId": "later"}]
    late = table.seat(name="Late")
    table.settle()
    assert [frame["leafId"] for frame in late.frames] == ["later"]


def test_a_rejoining_guest_receives_only_the_missing_entries() -> None:
    table = Table(entries=ENTRIES)
    seat = table.join()
    seat.room.have = {"session": "s1", "count": 18, "last": "e17"}
    table.time.now += 5
    seat.room.relay_text('{"type":"gap"}')
    table.settle()
    assert seat.snapshots[1].left_out == 18
    assert [json.loads(line)["id"] for line in seat.snapshots[1].snapshot.entries] == ["e18", "e19"]
    seat.room.have = {"session": "s1", "count": 18, "last": "another"}
    table.time.now += 5
    seat.room.relay_text('{"type":"gap"}')
    table.settle()
    assert len(seat.snapshots[2].snapshot.entries) == 20, "other entries: everything again"


def test_a_lost_broadcast_is_detected_and_a_new_snapshot_is_requested() -> None:
    table = Table()
    seat = table.join()
    table.say(t="leaf", leafId="lost")
    table.settle(lambda direction, data: [])
    table.say(t="leaf", leafId="seen")
    table.settle()
    assert seat.frames == []
    table.time.now += 2
    seat.room.tick()
    table.settle()
    assert (len(seat.snapshots), seat.room.state) == (2, "live")


def test_after_a_reconnection_of_the_host_guests_receive_a_new_snapshot() -> None:
    table = Table()
    seat = table.join()
    old = table.host.epoch
    table.host.connected()
    table.host.relay_text(json.dumps({"type": "peer-joined", "peer": seat.peer}))
    seat.room.relay_text('{"type":"host-left"}')
    assert seat.room.state == "away"
    with pytest.raises(CannotWrite):
        seat.room.write({"t": "abort", "id": "1"})
    table.time.now += 2
    seat.room.relay_text('{"type":"host-joined"}')
    table.settle()
    assert (seat.room.state, len(seat.snapshots)) == ("live", 2)
    assert table.host.epoch != old
    assert table.host.peers[seat.peer].can_write


def test_sharing_another_session_sends_its_snapshot_to_every_guest() -> None:
    table = Table()
    seats = [table.join(), table.join(KEYS.view_only())]
    table.host.renew("session")
    table.time.now += 2
    table.settle()
    for seat in seats:
        seat.room.tick()
    table.settle()
    assert [len(seat.snapshots) for seat in seats] == [2, 2]


def test_hellos_are_answered_at_most_once_a_second() -> None:
    table = Table()
    seat = table.join()
    for _ in range(50):
        seat.room.relay_text('{"type":"host-joined"}')
        seat.room.tick()
    table.settle()
    assert len(seat.snapshots) == 1
    table.time.now += 1.5
    seat.room.tick()
    table.settle()
    assert len(seat.snapshots) == 2


def test_a_hello_without_a_response_is_retried() -> None:
    table = Table()
    seat = table.seat()
    table.settle(lambda direction, data: [] if direction == "host" else [data])
    assert seat.snapshots == []
    table.time.now += 11
    seat.room.tick()
    table.settle()
    assert seat.room.state == "live"


def test_the_retry_delay_grows_with_each_hello() -> None:
    table = Table()
    seat = table.seat()
    hellos = 0
    for _ in range(60):
        hellos += len(seat.room.outgoing)
        seat.room.outgoing.clear()  # the host is too busy to answer
        table.time.now += 1
        seat.room.tick()
    assert hellos == 3  # at once, after 10 seconds and 20 more; the next one after 40 more


@pytest.mark.behaviour("frames-are-bounded")
def test_a_frame_that_is_too_large_is_fetched_in_chunks_and_keeps_its_place() -> None:
    table = Table()
    seats = [table.join(), table.join(KEYS.view_only())]
    huge = {"t": "entry", "entry": {"id": "huge", "data": "y" * (5 * CHUNK)}}
    table.say(t="leaf", leafId="before")
    table.host.broadcast(huge)
    table.say(t="leaf", leafId="after")
    table.settle()
    for seat in seats:
        assert [frame["t"] for frame in seat.frames] == ["leaf", "entry", "leaf"]
        assert seat.frames[1] == huge
    assert max(map(len, table.log)) <= 786_432


@pytest.mark.behaviour("frames-are-bounded")
def test_oversized_and_deeply_nested_entries_are_replaced() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]
    known = {"type": "message", "id": "a", "parentId": "b", "timestamp": "now"}
    for entry in ({**known, "deep": deep}, {**known, "text": "x" * (17 << 20)}):
        stand_in = json.loads(entry_line(entry))
        assert stand_in["customType"] == "collab-omitted"
        assert (stand_in["id"], stand_in["parentId"], stand_in["timestamp"]) == ("a", "b", "now")
    assert json.loads(entry_line(known)) == known
    assert depth_exceeds([[[]]], 2)
    assert not depth_exceeds([[[]]], 3)


def test_requests_of_guests_have_a_sanitised_name_and_a_kind() -> None:
    table = Table()
    seat = table.join(name="  Ann\x1b[31m\u202e\u200b  B  ")
    seat.room.write({"t": "prompt", "id": "1", "text": "hi"})
    seat.room.write({"t": "abort", "id": "2"})
    table.settle()
    assert [(r.name, r.kind) for r in table.requests] == [("Ann B", "prompt"), ("Ann B", "abort")]


def test_a_prompt_that_is_sent_twice_runs_once() -> None:
    table = Table()
    seat = table.join()
    for _ in range(3):
        seat.room.write({"t": "prompt", "id": "same", "text": "hi"})
    table.settle()
    assert len(table.requests) == 1
    assert seat.kinds() == ["accepted", "accepted"]


def test_an_unsupported_protocol_version_is_rejected_with_a_message() -> None:
    table = Table()
    seat = table.seat()
    seat.room.outgoing.clear()
    frame = encode({"t": "hello", "v": 6, "nonce": seat.room._nonce})
    data = Sealer(KEYS).seal(frame, direction=FROM_GUEST, peer=0, epoch=NO_EPOCH, counter=0)
    table.deliver_to_host(seat.peer.to_bytes(4, "big") + data[4:])
    with pytest.raises(VersionRefused, match="version 5"):
        table.settle()


def test_a_peer_that_sends_too_many_bad_frames_is_ignored_for_a_minute() -> None:
    table = Table()
    bad, good = table.join(name="Bad"), table.join(name="Good")
    for _ in range(MAX_BAD_FRAMES):
        table.deliver_to_host(bad.peer.to_bytes(4, "big") + bytes(200))
    bad.room.write({"t": "abort", "id": "1"})
    good.room.write({"t": "abort", "id": "2"})
    table.settle()
    assert [request.name for request in table.requests] == ["Good"]
    table.time.now += 61
    bad.room.write({"t": "abort", "id": "3"})
    table.settle()
    assert [request.name for request in table.requests] == ["Good", "Bad"]


@given(st.binary(max_size=300), st.integers(0, 5))
def test_any_bytes_are_refused_without_an_error(data: bytes, peer: int) -> None:
    table = Table()
    seat = table.join()
    head = peer.to_bytes(4, "big")
    assert table.host.receive(data) is None
    assert table.host.receive(head + data) is None
    assert seat.room.receive(data) == []
    assert seat.room.receive(head + b"\x05" + data) == []
    table.host.relay_text(data.decode("latin-1"))
    seat.room.relay_text(data.decode("latin-1"))
    table.settle()


CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KIND = st.sampled_from(
    ["hello", "fetch-chunk", "prompt", "abort", "ui-response", "agent-cmd", "bye", "x", "welcome"]
)
FIELD = st.sampled_from(["id", "of", "index", "text", "have", "name", "v", "value", "nonce"])


@given(KIND, st.dictionaries(FIELD, CONTENT), st.booleans())
def test_arbitrary_frames_of_a_guest_raise_no_error(kind: str, fields: dict, prove: bool) -> None:  # type: ignore[type-arg]
    table = Table()
    seat = table.join()
    seat.room._send({**fields, "t": kind}, prove=prove)
    seat.room._send({"t": "abort", "id": "last"}, prove=True)
    table.settle()
    if kind != "bye":
        assert [r.frame["id"] for r in table.requests][-1:] == ["last"]


HOST_KIND = st.sampled_from(
    ["welcome", "snapshot-chunk", "deferred", "error", "entry", "resync", "bye", "event"]
)
HOST_FIELD = st.sampled_from(["of", "count", "bytes", "index", "code", "entry", "re", "chunks"])


@given(HOST_KIND, st.dictionaries(HOST_FIELD, CONTENT))
def test_arbitrary_frames_of_a_host_raise_no_error(kind: str, fields: dict) -> None:  # type: ignore[type-arg]
    table = Table()
    seat = table.join()
    table.host.broadcast({**fields, "t": kind})
    table.host.send(seat.peer, {**fields, "t": kind})
    table.settle()
    for _ in range(3):
        table.time.now += 11
        seat.room.tick()
        table.settle()
    assert seat.room.state == "live"


def outgoing(size: int, level: int = 0, peer: int = 0) -> Outgoing:
    return Outgoing(peer=peer, make=bytes, size=size, level=level)


@pytest.mark.behaviour("frames-are-bounded")
def test_overload_sheds_advisory_frames_first() -> None:
    outbox = Outbox()
    for level in (MESSAGE_UPDATE, TOOL_UPDATE, ADVISORY, 0):
        outbox.put(outgoing(1 << 20, level))
    outbox.put(outgoing(1))
    kept = []
    while (frame := outbox.take()) is not None:
        kept.append(frame.level)
    assert (kept, outbox.shed) == ([MESSAGE_UPDATE, TOOL_UPDATE, 0, 0], 1)
    for _ in range(33):
        outbox.put(outgoing(1 << 20, MESSAGE_UPDATE))
    assert not outbox.overloaded, "updates alone never overload"
    for _ in range(33):
        outbox.put(outgoing(1 << 20))
    assert outbox.overloaded


def test_queued_frames_alternate_between_peers_and_an_overfull_queue_is_dropped() -> None:
    outbox = Outbox()
    for peer in (1, 1, 2):
        assert outbox.put_bulk(outgoing(10, peer=peer))
    outbox.put(outgoing(1))
    order = [frame.peer for frame in iter(outbox.take, None)]
    assert order == [0, 1, 2, 1]
    outbox.put_bulk(outgoing(10, peer=2))
    outbox.put_bulk(outgoing(PEER_LIMIT, peer=1))
    assert not outbox.put_bulk(outgoing(1, peer=1))
    assert [frame.peer for frame in iter(outbox.take, None)] == [2]


def test_bodies_are_split_into_chunks_and_reassembled() -> None:
    data = random.Random(1).randbytes(CHUNK * 2 + 5)
    body = Body(data)
    assembler = Assembler("x", body.count, body.size)
    found = None
    for index in (0, 0, 2, 1, 2):
        found = found or assembler.add({"of": "x", "index": index}, body.chunk(index))
    assert found == data
    assert Body(b"").count == 1
    for count, size in ((0, 1), (2**21, 1), (1, 2**40)):
        with pytest.raises(BadContent):
            Assembler("x", count, size)
    with pytest.raises(BadContent):
        parse_snapshot(b"[1]")


@pytest.mark.behaviour("collab-names-are-sanitised")
@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("Ann", "Ann"),
        ("\x1b]0;owned\x07Ann", "Ann"),
        ("A\u202enn\u200b\n x", "Ann x"),
        ("z\u0300\u0301\u0302algo", "zalgo"),
        ("", "guest"),
        (None, "guest"),
        (7, "guest"),
        ("y" * 500, "y" * 32),
    ],
)
def test_names_are_sanitised(given_name: object, shown: str) -> None:
    assert clean_name(given_name) == shown
