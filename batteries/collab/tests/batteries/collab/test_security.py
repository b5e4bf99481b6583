"""Attacks on a shared session: by relays, viewers, thieves of a room id, and replays."""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress

import pytest

from pi.batteries.collab.guest_room import LinkRefused
from pi.batteries.collab.links import BadLink, Link, decode, encode, parse_link, relay_address
from pi.batteries.collab.sealing import (
    FROM_GUEST,
    FROM_HOST,
    BadFrame,
    Keys,
    Sealer,
    Sequence,
    write_key,
)
from scripts.workspace import ROOT
from tests.batteries.collab.rooms import KEYS, Seat, Table

VIEW = KEYS.view_only()
VECTORS = ROOT / "docs" / "reference" / "collab-vectors.json"


def prompt(seat: Seat, text: str = "rm -rf") -> bytes:
    """The bytes of a prompt as the relay receives them; they are not delivered."""
    seat.room.write({"t": "prompt", "id": text, "text": text})
    return seat.peer.to_bytes(4, "big") + seat.room.outgoing.pop()[4:]


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_replayed_frames_are_refused() -> None:
    table = Table()
    seat = table.join()
    sent = prompt(seat)
    assert table.deliver_to_host(sent) is not None
    for _ in range(100):
        assert table.deliver_to_host(sent) is None
    for old in list(table.to_host):  # replay everything that was sent
        table.deliver_to_host(old)
    assert len(table.requests) == 1


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_reordered_frames_are_refused() -> None:
    table = Table()
    seat = table.join()
    first, second = prompt(seat, "1"), prompt(seat, "2")
    assert table.deliver_to_host(second) is not None
    assert table.deliver_to_host(first) is None


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_truncated_extended_and_changed_frames_are_refused() -> None:
    table = Table()
    seat = table.join()
    sent = prompt(seat)
    for length in range(len(sent)):
        assert table.host.receive(sent[:length]) is None
        table.host._bad.clear()
    for position in range(4, len(sent)):
        changed = bytearray(sent)
        changed[position] ^= 1
        assert table.host.receive(bytes(changed)) is None
        table.host._bad.clear()
    assert table.host.receive(sent + b"x") is None
    assert table.host.receive(sent) is not None, "the frame itself is good"


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_frames_with_a_forged_peer_id_are_rejected() -> None:
    table = Table()
    ann, bob = table.join(name="Ann"), table.join(name="Bob")
    viewer = table.join(VIEW, name="Vic")
    for forged in (bob.peer, viewer.peer, 0, 99, 2**32 - 1):
        sent = prompt(ann, str(forged))
        assert table.deliver_to_host(forged.to_bytes(4, "big") + sent[4:]) is None
    assert table.requests == []


@pytest.mark.behaviour("guest-rights-end-with-the-connection")
def test_a_reused_peer_id_grants_no_permission() -> None:
    """A relay that lets a viewer connect under the id of a full guest who has left."""
    table = Table()
    full = table.join(name="Full")
    recorded = [prompt(full, str(number)) for number in range(3)]
    table.deliver_to_host(recorded[0])
    table.leave(full)
    table._next = full.peer
    viewer = table.seat(VIEW, name="Vic")
    assert viewer.peer == full.peer
    table.settle()
    for old in recorded:
        assert table.deliver_to_host(old) is None
    assert (viewer.room.state, table.host.writers) == ("joining", [])


@pytest.mark.behaviour("guest-rights-end-with-the-connection")
def test_frames_of_before_a_reconnection_of_the_host_are_refused() -> None:
    table = Table()
    seat = table.join()
    held_back = [prompt(seat, str(number)) for number in range(5)]
    table.host.connected()
    table.host.relay_text(json.dumps({"type": "peer-joined", "peer": seat.peer}))
    for old in held_back:
        assert table.deliver_to_host(old) is None
    assert table.host.writers == []


@pytest.mark.behaviour("view-only-guests-cannot-act")
@pytest.mark.parametrize(
    "kind", ["prompt", "abort", "agent-cmd", "fetch-transcript", "ui-response"]
)
def test_a_view_only_guest_cannot_write(kind: str) -> None:
    table = Table()
    viewer = table.join(VIEW, name="Vic")
    # A client that ignores its link, with and without an invented proof.
    viewer.room._send({"t": kind, "id": "1", "text": "x", "agent": "a", "offset": 0}, prove=False)
    table.settle()
    forger = Sealer(Keys(room=KEYS.room, key=KEYS.key, token=os.urandom(16)))
    viewer.room._counter += 1
    body = json.dumps({"t": kind, "id": "2", "text": "x"}).encode()
    forged = forger.seal(
        body,
        direction=FROM_GUEST,
        peer=viewer.peer,
        epoch=table.host.epoch,
        counter=viewer.room._counter,
        prove=True,
    )
    table.deliver_to_host(forged)
    table.settle()
    assert table.requests == []
    assert [frame.get("code") for frame in viewer.frames] == ["read-only"]


@pytest.mark.behaviour("view-only-guests-cannot-act")
def test_a_write_without_proof_is_rejected_although_an_earlier_one_was_proved() -> None:
    table = Table()
    seat = table.join()
    assert table.host.peers[seat.peer].can_write
    seat.room._send({"t": "prompt", "id": "1", "text": "x"}, prove=False)
    table.settle()
    assert table.requests == []


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_a_viewer_and_the_relay_together_cannot_reuse_a_proof() -> None:
    """They have the key and can seal; the proof covers peer, counter and ciphertext."""
    table = Table()
    full, viewer = table.join(name="Full"), table.join(VIEW, name="Vic")
    proved = prompt(full, "harmless")
    mac = proved[-32:]
    sealer = Sealer(VIEW)
    for peer in (full.peer, viewer.peer):
        for counter in range(1, 30):
            body = b'{"t":"prompt","id":"evil","text":"evil"}'
            sealed = sealer.seal(
                body, direction=FROM_GUEST, peer=peer, epoch=table.host.epoch, counter=counter
            )
            marked = bytearray(sealed)
            marked[5] = 1
            assert table.host.receive(bytes(marked) + mac) is None
            table.host._bad.clear()
    assert table.requests == []


def test_the_room_id_alone_grants_no_access() -> None:
    table = Table()
    honest = table.join()
    thief = table.seat(Keys(room=KEYS.room, key=os.urandom(32), token=os.urandom(16)))
    with pytest.raises(LinkRefused):
        table.settle()
    table.settle()
    assert (thief.room.state, thief.snapshots) == ("joining", [])
    assert table.changes == [("Gus", "joined")]
    thief.room.state, thief.room._epoch, thief.room.peer = "live", table.host.epoch, thief.peer
    thief.room.write({"t": "prompt", "id": "1", "text": "x"})
    table.settle()
    assert table.requests == []
    table.say(t="leaf", leafId="x")
    table.settle()
    assert (thief.frames, honest.kinds()) == ([], ["leaf"])


def test_frames_of_the_host_are_rejected_by_the_host() -> None:
    table = Table()
    seat = table.join()
    table.say(t="leaf", leafId="x")
    table.settle()
    for data in list(table.to_guests):
        assert table.host.receive(data) is None
        assert table.host.receive(seat.peer.to_bytes(4, "big") + data[4:]) is None
    assert table.requests == []


def test_frames_for_one_guest_are_refused_by_another_and_as_broadcasts() -> None:
    table = Table()
    ann, bob = table.join(name="Ann"), table.join(name="Bob")
    table.host.send(ann.peer, {"t": "ui-request", "id": "1"})
    frame = table.host.next_frame()
    assert frame is not None
    for peer in (0, bob.peer):
        table.deliver(bob, peer.to_bytes(4, "big") + frame[4:])
    table.deliver(bob, frame)
    assert bob.frames == []


@pytest.mark.behaviour("relays-cannot-inject-frames")
def test_a_recorded_session_cannot_be_played_to_a_guest() -> None:
    table = Table()
    first = table.join()
    table.say(t="leaf", leafId="old")
    table.settle()
    recorded = list(table.to_guests)
    victim = table.seat()
    victim.room.outgoing.clear()  # the hello does not reach the host
    for data in recorded:
        for peer in (None, victim.peer, 0):
            changed = data if peer is None else peer.to_bytes(4, "big") + data[4:]
            with suppress(LinkRefused):  # a relay can keep a guest from joining, no more
                table.deliver(victim, changed)
    assert (victim.room.state, victim.snapshots, victim.frames) == ("joining", [], [])
    before = len(first.frames)
    for data in recorded:
        table.deliver(first, data)
    assert len(first.frames) == before, "replayed broadcasts are refused"


def test_a_replayed_mixture_of_recorded_frames_runs_no_prompt_twice() -> None:
    order = random.Random(7)
    for _ in range(30):
        table = Table()
        seats = [table.join(name="Ann"), table.join(name="Bob"), table.join(VIEW, name="Vic")]
        sent = [prompt(seat, f"{seat.peer}-{n}") for seat in seats[:2] for n in range(5)]
        noise = [order.choice(sent) for _ in range(60)]
        for data in noise:
            peer = order.choice([None, *(seat.peer for seat in seats)])
            table.deliver_to_host(data if peer is None else peer.to_bytes(4, "big") + data[4:])
        texts = [request.frame["text"] for request in table.requests]
        assert len(texts) == len(set(texts))
        for request in table.requests:
            assert request.frame["text"].startswith(f"{request.peer}-")


@pytest.mark.behaviour("the-relay-sees-no-plaintext")
def test_no_data_of_the_relay_contains_plaintext_or_keys() -> None:
    table = Table(entries=({"id": "e1", "text": "the plan is secret"},))
    seat = table.join(name="Annabelle")
    table.say(t="entry", entry={"id": "e2", "text": "another secret plan"})
    seat.room.write({"t": "prompt", "id": "1", "text": "what is the secret"})
    table.settle()
    seen = b"".join(table.log)
    key = write_key(KEYS.token, KEYS.room, table.host.epoch)
    for needle in (b"secret", b"Annabelle", b"prompt", KEYS.key, KEYS.token, key, b"e1"):
        assert needle not in seen
    assert KEYS.room not in seen


def test_sealed_frames_match_the_test_vectors() -> None:
    vectors = json.loads(VECTORS.read_text())
    keys = Keys(
        room=bytes.fromhex(vectors["room"]),
        key=bytes.fromhex(vectors["key"]),
        token=bytes.fromhex(vectors["token"]),
    )
    assert (
        write_key(keys.token, keys.room, bytes.fromhex(vectors["epoch"])).hex()
        == (vectors["writeKey"])
    )
    link = Link(relay="wss://relay.example.com", keys=keys)
    assert vectors["links"] == {
        "full": link.text(),
        "view": link.view_only().text(),
        "page": link.page(),
    }
    for case in vectors["frames"]:
        frame = bytes.fromhex(case["frame"])
        iv = bytes.fromhex(case["iv"])
        sealed = Sealer(keys, {12: iv}.__getitem__).seal(
            case["plaintext"].encode(),
            direction=case["direction"],
            peer=case["peer"],
            epoch=bytes.fromhex(case["epoch"]),
            counter=case["counter"],
            prove=case["proved"],
            sent_peer=int.from_bytes(frame[:4], "big"),
        )
        assert sealed == frame, case["name"]
        delivered = case["peer"].to_bytes(4, "big") + frame[4:]
        opened = Sealer(keys).open(delivered, direction=case["direction"])
        assert opened.plaintext.decode() == case["plaintext"]
        assert opened.proved == case["proved"]
        with pytest.raises(BadFrame):
            Sealer(keys).open(delivered, direction=1 - case["direction"])


def test_counters_only_grow() -> None:
    counters = Sequence(5)
    assert counters.accept(6) is False
    assert counters.accept(9) is True
    for used in (0, 5, 6, 9):
        with pytest.raises(BadFrame):
            counters.accept(used)


def test_a_view_only_link_cannot_prove_and_frames_have_a_limit() -> None:
    with pytest.raises(BadFrame):
        Sealer(VIEW).seal(
            b"x", direction=FROM_GUEST, peer=1, epoch=bytes(16), counter=1, prove=True
        )
    with pytest.raises(BadFrame):
        Sealer(KEYS).seal(bytes(800_000), direction=FROM_HOST, peer=1, epoch=bytes(16), counter=1)


# Links --------------------------------------------------------------------------------------------

LINK = Link(relay="wss://relay.example.com", keys=KEYS)
LOCAL = Link(relay="ws://localhost:7475", keys=KEYS)


@pytest.mark.parametrize(
    "text",
    [
        LINK.text(),
        LINK.page(),
        f'  "{LINK.page()}" ',
        LINK.page().replace(".5.", "#5#"),
        LINK.page().replace(".5.", "%235%23"),
        LINK.text().replace(".5.", "#5#"),
        LINK.code,
        f"wss://relay.example.com/r/{LINK.code}",
    ],
)
def test_links_are_parsed_in_all_forms(text: str) -> None:
    assert parse_link(text, "relay.example.com") == LINK


def test_local_and_view_only_links() -> None:
    assert LOCAL.text() == f"ws://localhost:7475/r/{LOCAL.code}"
    for text in (LOCAL.text(), LOCAL.page(), f"localhost:7475/r/{LOCAL.code}"):
        assert parse_link(text) == LOCAL
    behind_tls = Link(relay="wss://localhost:7476", keys=LOCAL.keys)
    assert parse_link(behind_tls.text()) == behind_tls
    assert parse_link(LOCAL.view_only().text()).keys == VIEW
    assert LINK.page("https://web.example.com/") == f"https://web.example.com/#{LINK.code}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a link"),
        (LINK.code, "names no relay"),
        ("hello world", "not a link"),
        ("https://relay.example.com/", "not a link"),
        (f"relay.example.com/r/{LINK.code.replace('.5.', '#')}", "version 4; this pi speaks"),
        (f"relay.example.com/r/{LINK.code.replace('.5.', '.6.')}", "version 6; this pi speaks"),
        (f"relay.example.com/r/{LINK.code[:-1]}", "incomplete|damaged"),
        (f"relay.example.com/r/{LINK.code}.x", "not a link"),
        (f"relay.example.com/r/{LINK.code[:-3]}!!!", "damaged"),
        (f"ws://relay.example.com/r/{LINK.code}", "without TLS"),
        (f"http://relay.example.com/#{LINK.code}", "without TLS"),
        (f"ftp://relay.example.com/r/{LINK.code}", "Invalid address"),
        (f"wss://user@relay.example.com/r/{LINK.code}", "Invalid address"),
    ],
)
def test_bad_links_are_explained_without_the_secret(text: str, message: str) -> None:
    with pytest.raises(BadLink, match=message) as failed:
        parse_link(text)
    assert encode(KEYS.key)[:10] not in failed.value.explain()


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("relay.example.com", "wss://relay.example.com"),
        ("https://relay.example.com/pi/", "wss://relay.example.com/pi"),
        ("localhost:7475", "ws://localhost:7475"),
        ("ws://[::1]:7475", "ws://[::1]:7475"),
        ("127.0.0.1:1", "ws://127.0.0.1:1"),
    ],
)
def test_relay_addresses_are_normalised(given: str, address: str) -> None:
    assert relay_address(given) == address


def test_only_canonical_base64url_is_decoded() -> None:
    assert decode(encode(bytes(range(16)))) == bytes(range(16))
    for text in ("", "A", "AB", "A=", "A+", "é"):
        with pytest.raises(ValueError, match="base64url"):
            decode(text)
