"""The protocol of the host: peers, epochs, counters, checks of frames. No I/O."""

from __future__ import annotations

import json
import os
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pi.batteries.collab.links import encode as base64url
from pi.batteries.collab.outbox import ADVISORY, KEEP, Outbox, Outgoing
from pi.batteries.collab.sealing import (
    EVERYONE,
    FROM_GUEST,
    FROM_HOST,
    NO_EPOCH,
    VERSION,
    BadFrame,
    Keys,
    Opened,
    Sealer,
    WrongKey,
)
from pi.batteries.collab.sealing import Sequence as Counters
from pi.batteries.collab.snapshots import Body
from pi.batteries.collab.wire import (
    GUEST_READS,
    GUEST_WRITES,
    ID_LENGTH,
    MAX_PLAIN,
    BadContent,
    clean_name,
    decode,
    encode,
    int_field,
    text_field,
)
from pi.extension import Json, Record

MAX_PEERS: Final = 4096
"""Maximum of guest ids per epoch; further ids, which a relay may invent, are ignored."""
MAX_BAD_FRAMES: Final = 100
BAD_SECONDS: Final = 60.0
HELLO_SECONDS: Final = 1.0
LARGE_FRAMES: Final = 8
REMEMBERED_IDS: Final = 256


class Have(Record):
    """The entries of a session that a guest has already: their number, and the last id."""

    session: str
    count: int
    last: str


class GuestPeer:
    """The host's record of a guest."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.name = "guest"
        self.can_write = False
        """Whether its last ``hello`` was proved. Every write is checked separately."""
        self.listed = False
        self.is_refused = False
        """Whether it was told that its key is wrong."""
        self.nonce = ""
        self.have: Have | None = None
        self.snapshot: Body | None = None
        self.hello_at = -HELLO_SECONDS


class Mark:
    """The position of a snapshot among the broadcasts."""

    broadcast = 0
    """Counter of the last broadcast before the snapshot, once that was sent."""


class Request(Record):
    """A verified request of a guest."""

    peer: int
    name: str
    kind: str
    frame: Json


class Participant(Record):
    """The host or a guest, for display."""

    peer: int
    name: str
    role: str


class HostRoom:
    """The host's side of one room."""

    def __init__(
        self,
        keys: Keys,
        *,
        name: str,
        now: Callable[[], float],
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.keys = keys
        self.name = name
        self.outbox = Outbox()
        self.rejected = 0
        """Number of frames that were not accepted."""
        self.on_hello: Callable[[GuestPeer], None] = lambda peer: None
        """Called for a peer that has sent ``hello``."""
        self.on_change: Callable[[GuestPeer, str], None] = lambda peer, change: None
        """Called for a guest that has ``joined``, ``left`` or proved the right to ``write``."""
        self._sealer = Sealer(keys, random)
        self._random = random
        self._now = now
        self.peers: dict[int, GuestPeer] = {}
        self._counters: dict[int, Counters] = {}
        self._departed: set[int] = set()
        """Ids of this epoch that have left; a relay must not use them again."""
        self._sent: dict[int, int] = {}
        self._bad: dict[int, deque[float]] = {}
        self._large: OrderedDict[str, Body] = OrderedDict()
        self._large_number = 0
        self._ids: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.epoch = random(16)

    # The connection -------------------------------------------------------------------------------

    def connected(self) -> None:
        """Begin a new epoch without guests, for a new connection to the relay."""
        self._begin_epoch()
        self.peers.clear()

    def renew(self, reason: str) -> None:
        """Begin a new epoch, and make all guests fetch another snapshot."""
        self._begin_epoch()
        for peer in self.peers.values():
            peer.snapshot = None
            peer.nonce = ""
        self.broadcast({"t": "resync", "reason": reason})

    def _begin_epoch(self) -> None:
        self.epoch = self._random(16)
        self.outbox.clear()
        self._counters.clear()
        self._departed.clear()
        self._sent.clear()
        self._large.clear()

    def relay_text(self, text: str) -> None:
        """Handle a message of the relay. It is not trusted: it can only add and remove guests."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        peer_id = message.get("peer") if isinstance(message, dict) else None
        if type(peer_id) is not int or not 0 < peer_id < 2**32:
            return
        if message.get("type") == "peer-joined":
            if peer_id not in self._departed and len(self.peers) + len(self._departed) < MAX_PEERS:
                self.peers.setdefault(peer_id, GuestPeer(peer_id))
        elif message.get("type") == "peer-left":
            self._leave(peer_id)

    def _leave(self, peer_id: int) -> None:
        peer = self.peers.pop(peer_id, None)
        if peer is not None:
            self._departed.add(peer_id)
        self.outbox.drop(peer_id)
        if peer is not None and peer.listed:
            self.on_change(peer, "left")

    @property
    def participants(self) -> list[Participant]:
        """The host and the guests that have joined."""
        return [
            Participant(peer=0, name=self.name, role="host"),
            *(
                Participant(peer=p.id, name=p.name, role="full" if p.can_write else "view")
                for p in self.peers.values()
                if p.listed
            ),
        ]

    @property
    def writers(self) -> list[int]:
        """The peers that may answer dialogs."""
        return [peer.id for peer in self.peers.values() if peer.listed and peer.can_write]

    # Frames of guests -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> Request | None:
        """Decrypt a frame; returns a request to carry out. Invalid frames are only counted."""
        peer_id = int.from_bytes(data[:4], "big")
        try:
            return self._receive(data)
        except WrongKey:
            self._refuse_key(peer_id)
        except (BadFrame, BadContent):
            pass
        self.rejected += 1
        self._count_bad(peer_id)
        return None

    def _refuse_key(self, peer_id: int) -> None:
        """Answer a guest whose link has another key, once.

        With another key it cannot read the answer either, and knows why.
        """
        peer = self.peers.get(peer_id)
        if peer is not None and not peer.listed and not peer.is_refused:
            peer.is_refused = True
            self.send(peer_id, {"t": "error", "code": "key", "message": "The key is wrong."})

    def _receive(self, data: bytes) -> Request | None:
        peer_id = int.from_bytes(data[:4], "big")
        if self._ignores(peer_id):
            raise BadFrame("this peer has sent too many bad frames")
        peer = self.peers.get(peer_id)
        if peer is None:
            raise BadFrame("unknown peer")
        opened = self._sealer.open(data, direction=FROM_GUEST)
        if opened.epoch == NO_EPOCH:
            if opened.counter or opened.proved:
                raise BadFrame("only a plain hello has no epoch")
            self._hello(peer, decode(opened.plaintext)[0])
            return None
        if opened.epoch != self.epoch:
            raise BadFrame("another epoch")
        if peer_id not in self._counters and len(self._counters) >= MAX_PEERS:
            raise BadFrame("too many peers")
        self._counters.setdefault(peer_id, Counters()).accept(opened.counter)
        frame, _ = decode(opened.plaintext)
        return self._dispatch(peer, frame, opened)

    def _dispatch(self, peer: GuestPeer, frame: Json, opened: Opened) -> Request | None:
        kind = frame["t"]
        if kind in GUEST_WRITES:
            return self._write(peer, frame, opened)
        if kind not in GUEST_READS:
            raise BadContent("unknown kind of frame")
        if kind == "hello":
            self._list(peer, frame, proved=opened.proved)
        elif kind == "fetch-chunk":
            self._fetch(peer, text_field(frame, "of", ID_LENGTH), int_field(frame, "index"))
        else:
            self._leave(peer.id)
        return None

    def _write(self, peer: GuestPeer, frame: Json, opened: Opened) -> Request | None:
        id = text_field(frame, "id", ID_LENGTH)
        if not opened.proved:  # the proof of an earlier frame does not count
            self.rejected += 1
            message = "This link is read-only: ask the host for a full link."
            self.send(peer.id, {"t": "error", "re": id, "code": "read-only", "message": message})
            return None
        if frame["t"] == "prompt":
            # A guest repeats a prompt after a lost connection: run it once. Guests choose the ids,
            # so the name of the guest is part of the key.
            if (peer.name, id) in self._ids:
                self.accept(peer.id, id)
                return None
            self._ids[peer.name, id] = None
            if len(self._ids) > REMEMBERED_IDS:
                self._ids.popitem(last=False)
        return Request(peer=peer.id, name=peer.name, kind=frame["t"], frame=frame)

    def _hello(self, peer: GuestPeer, frame: Json) -> None:
        if frame["t"] != "hello":
            raise BadContent("the first frame is not a hello")
        nonce = text_field(frame, "nonce", 22)
        if frame.get("v") != VERSION:
            message = f"The host speaks version {VERSION} of the protocol: update pi."
            self.send(peer.id, {"t": "error", "re": nonce, "code": "version", "message": message})
            return
        now = self._now()
        if now - peer.hello_at < HELLO_SECONDS and peer.nonce:
            raise BadFrame("too many hellos")
        peer.hello_at, peer.nonce, peer.snapshot = now, nonce, None
        peer.name = clean_name(frame.get("name"))
        peer.have = _have(frame.get("have"))
        self.on_hello(peer)

    def _list(self, peer: GuestPeer, frame: Json, *, proved: bool) -> None:
        peer.name = clean_name(frame.get("name"))
        gained = proved and not peer.can_write
        peer.can_write = proved
        if not peer.listed:
            peer.listed = True
            self.on_change(peer, "joined")
        elif gained:
            self.on_change(peer, "write")

    def _fetch(self, peer: GuestPeer, of: str, index: int) -> None:
        body = peer.snapshot if of == "snapshot" else self._large.get(of)
        if body is None or index >= body.count:
            message = "This part is not available any more."
            self.send(peer.id, {"t": "error", "re": of, "code": "gone", "message": message})
            return
        head = encode({"t": "snapshot-chunk", "of": of, "index": index, "count": body.count})
        requested = body  # the peer may send another hello before this is sent
        chunk = Outgoing(
            peer=peer.id,
            make=lambda: head + b"\n" + requested.chunk(index),
            size=len(head) + min(requested.size, 524_288),
        )
        if not self.outbox.put_bulk(chunk):
            peer.nonce = ""
            self.send(peer.id, {"t": "error", "code": "gone", "message": "Too many requests."})
        if of == "snapshot" and index == body.count - 1:
            peer.snapshot = None  # all of it is fetched: release the memory

    def _count_bad(self, peer_id: int) -> None:
        if peer_id not in self.peers:
            return
        times = self._bad.setdefault(peer_id, deque(maxlen=MAX_BAD_FRAMES))
        times.append(self._now())

    def _ignores(self, peer_id: int) -> bool:
        times = self._bad.get(peer_id)
        if times is None or len(times) < MAX_BAD_FRAMES:
            return False
        return self._now() - times[0] < BAD_SECONDS

    # Frames to guests -----------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Record the position of a snapshot among the broadcasts, when its data is read."""
        mark = Mark()

        def reach() -> bytes:
            mark.broadcast = self._sent.get(EVERYONE, 0)
            return b""

        self.outbox.put(Outgoing(peer=EVERYONE, make=reach, size=0))
        return mark

    def welcome(
        self,
        peer: GuestPeer,
        snapshot: Body,
        mark: Mark,
        *,
        nonce: str,
        session: str,
        left_out: int,
    ) -> None:
        """Answer the ``hello`` with ``nonce``, unless the guest has left or sent a later one."""
        if self.peers.get(peer.id) is not peer or peer.nonce != nonce:
            return
        peer.snapshot = snapshot
        epoch = base64url(self.epoch)

        def make() -> bytes:
            # Sent in order with broadcasts, so the mark is set by now.
            counters = self._counters.get(peer.id)
            return encode(
                {
                    "t": "welcome",
                    "v": VERSION,
                    "nonce": nonce,
                    "epoch": epoch,
                    "peer": peer.id,
                    "counter": 0 if counters is None else counters.last,
                    "broadcast": mark.broadcast,
                    "session": session,
                    "from": left_out,
                    "chunks": snapshot.count,
                    "bytes": snapshot.size,
                }
            )

        self.outbox.put(Outgoing(peer=peer.id, make=make, size=500))

    def broadcast(self, frame: Json, level: int = KEEP) -> None:
        """Send a frame to all guests; large ones are announced and fetched in chunks."""
        if not self.peers:
            return
        data = encode(frame)
        if len(data) > MAX_PLAIN:
            if level == ADVISORY:
                return
            data = self._deferred(data)
        self.outbox.put(Outgoing(peer=EVERYONE, make=lambda: data, size=len(data), level=level))

    def _deferred(self, data: bytes) -> bytes:
        self._large_number += 1
        of, body = f"large-{self._large_number}", Body(data)
        self._large[of] = body
        while len(self._large) > LARGE_FRAMES:
            self._large.popitem(last=False)
        return encode({"t": "deferred", "of": of, "count": body.count, "bytes": body.size})

    def send(self, peer: int, frame: Json) -> None:
        """Send a frame to one guest; a frame that is too large is dropped."""
        data = encode(frame)
        if len(data) <= MAX_PLAIN:
            self.outbox.put(Outgoing(peer=peer, make=lambda: data, size=len(data)))

    def send_all(self, peers: Sequence[int], frame: Json) -> None:
        """Send a frame to each of some guests."""
        for peer in peers:
            self.send(peer, frame)

    def accept(self, peer: int, id: str) -> None:
        """Confirm a request of a guest."""
        self.send(peer, {"t": "accepted", "re": id})

    def refuse(self, peer: int, id: str, code: str, message: str) -> None:
        """Refuse a request of a guest."""
        self.send(peer, {"t": "error", "re": id, "code": code, "message": message})

    def next_frame(self) -> bytes | None:
        """Seal and return the next frame of the queue; ``None`` if it is empty."""
        while True:
            if (frame := self.outbox.take()) is None:
                return None
            if plaintext := frame.make():
                break
        counter = self._sent[frame.peer] = self._sent.get(frame.peer, 0) + 1
        return self._sealer.seal(
            plaintext, direction=FROM_HOST, peer=frame.peer, epoch=self.epoch, counter=counter
        )


def _have(value: object) -> Have | None:
    match value:
        case {"session": str(session), "count": int(count), "last": str(last)} if count > 0:
            return Have(session=session[:100], count=count, last=last[:100])
        case _:
            return None


ROLES: Mapping[str, str] = {"host": "host", "full": "can write", "view": "view only"}
"""Words for the roles of participants."""


def role_text(participants: Sequence[Participant]) -> str:
    """The participants, one line each."""
    return "\n".join(
        f"  {participant.name} ({ROLES[participant.role]})" for participant in participants
    )
