"""The protocol of a guest: joining, following, resynchronising, writing. No I/O."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from pi.batteries.collab.links import encode as base64url
from pi.batteries.collab.sealing import (
    EVERYONE,
    FROM_GUEST,
    FROM_HOST,
    NO_EPOCH,
    OVERHEAD,
    VERSION,
    BadFrame,
    Keys,
    Opened,
    Sealer,
    Sequence,
    WrongKey,
)
from pi.batteries.collab.snapshots import Assembler, Snapshot, parse_snapshot
from pi.batteries.collab.wire import MAX_ENTRY, BadContent, decode, encode, int_field, text_field
from pi.extension import Json, PiError, Record

State: TypeAlias = Literal["away", "joining", "loading", "live"]
HELLO_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 10.0
"""Time after which a guest without an answer repeats its ``hello``."""
LONGEST_ANSWER_SECONDS: Final = 160.0
"""Maximum of that time, which doubles: each ``hello`` makes a busy host restart a snapshot."""
MAX_QUEUED: Final = 20_000
MAX_PROMPT: Final = 720_000


class SnapshotReceived(Record):
    """The state of the session, without the first ``left_out`` entries, which the guest has."""

    session: str
    left_out: int
    snapshot: Snapshot


class FrameReceived(Record):
    """A decrypted frame of the host, in order."""

    frame: Json


Update: TypeAlias = SnapshotReceived | FrameReceived


class CannotWrite(PiError):
    """The link is read-only, the host is not connected, or the request is too large."""


class LinkRefused(PiError):
    """The key of the link is not that of the room."""

    def __init__(self) -> None:
        super().__init__(
            "The key of this link is wrong.", hint="Copy the link once more, as a whole."
        )


class GuestRoom:
    """The guest's side of one room."""

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
        self.state: State = "away"
        self.host_present = False
        self.have: Json | None = None
        """The entries that the guest has already, as the field ``have`` of ``hello``."""
        self.outgoing: deque[bytes] = deque()
        self.rejected = 0
        self.peer = 0
        self._sealer = Sealer(keys, random)
        self._random = random
        self._now = now
        self._nonce = ""
        self._epoch = NO_EPOCH
        self._own = Sequence()
        self._broadcasts = Sequence()
        self._counter = 0
        self._session = ""
        self._left_out = 0
        self._assembler: Assembler | None = None
        self._queued: deque[Json] = deque()
        self._early: list[Opened] = []
        """Broadcasts that arrived before the welcome."""
        self._hello_at = -HELLO_SECONDS
        self._wants_hello = False
        self._received_at = 0.0
        self._patience = ANSWER_SECONDS

    # The connection -------------------------------------------------------------------------------

    def connected(self) -> None:
        """Reset the state for a new connection; the relay then reports the presence of the host."""
        self._reset()
        self._patience = ANSWER_SECONDS
        self.host_present = False

    def disconnected(self) -> None:
        """Reset the state after the end of the connection."""
        self._reset()
        self.host_present = False

    def relay_text(self, text: str) -> None:
        """Handle a message of the relay. It is untrusted: at worst it causes another ``hello``."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "host-joined":
            self.host_present = True
            self.rejoin()
        elif kind == "host-left":
            self.host_present = False
            self._reset()
        elif kind == "gap":
            self.rejoin()

    def rejoin(self) -> None:
        """Join again with a new ``hello``, at most once a second."""
        self._reset()
        self._wants_hello = True
        self.tick()

    def tick(self) -> None:
        """Send a ``hello`` that is due, or repeat it after a timeout; called every half second."""
        now = self._now()
        if not self.host_present:
            return
        stuck = self.state in ("joining", "loading") and now - self._received_at > self._patience
        if stuck and not self._wants_hello:
            self._patience = min(LONGEST_ANSWER_SECONDS, self._patience * 2)
            self._reset()
            self._wants_hello = True
        if self._wants_hello and now - self._hello_at >= HELLO_SECONDS:
            self._hello()

    def _reset(self) -> None:
        self.state = "away"
        self._nonce, self._epoch, self.peer = "", NO_EPOCH, 0
        self._assembler = None
        self._queued.clear()
        self._early.clear()
        self.outgoing.clear()

    def _hello(self) -> None:
        self._wants_hello, self._hello_at = False, self._now()
        self._received_at = self._hello_at
        self._nonce = base64url(self._random(16))
        self.state = "joining"
        frame: Json = {"t": "hello", "v": VERSION, "name": self.name, "nonce": self._nonce}
        if self.have is not None:
            frame["have"] = self.have
        sealed = self._sealer.seal(
            encode(frame), direction=FROM_GUEST, peer=EVERYONE, epoch=NO_EPOCH, counter=0
        )
        self.outgoing.append(sealed)

    # Frames of the host ---------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Update]:
        """Decrypt a frame and return its updates. Invalid frames are counted, not raised.

        Raises ``VersionRefused`` and ``LinkRefused``.
        """
        try:
            return self._receive(data)
        except WrongKey:
            if self.have is None and self.state == "joining":  # nothing was ever readable
                raise LinkRefused from None
            self.rejected += 1
        except BadFrame:
            self.rejected += 1
        except BadContent:  # sealed with the key, but by another implementation
            self.rejected += 1
            self.rejoin()
        return []

    def _receive(self, data: bytes) -> list[Update]:
        opened = self._sealer.open(data, direction=FROM_HOST)
        if opened.proved or opened.epoch == NO_EPOCH:
            raise BadFrame("not a frame of a host")
        if self.state == "away":
            return []
        if self.state == "joining":
            return self._before_welcome(opened)
        if opened.epoch != self._epoch:
            self.rejoin()  # the host has begun a new epoch; harmless if it is an old frame
            return []
        return self._follow(opened)

    def _follow(self, opened: Opened) -> list[Update]:
        if opened.peer not in (EVERYONE, self.peer):
            raise BadFrame("it is for another guest")
        sequence = self._broadcasts if opened.peer == EVERYONE else self._own
        if sequence.accept(opened.counter):
            self.rejoin()
            return []
        self._received_at = self._now()
        frame, rest = decode(opened.plaintext)
        return self._apply(frame, rest, is_broadcast=opened.peer == EVERYONE)

    def _before_welcome(self, opened: Opened) -> list[Update]:
        if opened.peer != EVERYONE:
            self._welcome(opened)
            early, self._early = self._early, []
            for message in early:  # queued by _follow until the snapshot is complete
                if message.epoch == self._epoch and message.counter > self._broadcasts.last:
                    self._follow(message)
        elif len(self._early) < MAX_QUEUED:
            self._early.append(opened)
        return []

    def _welcome(self, opened: Opened) -> None:
        frame, _ = decode(opened.plaintext)
        if frame["t"] == "error" and frame.get("re") == self._nonce:
            raise VersionRefused(text_field(frame, "message", 1000))
        if frame["t"] != "welcome" or frame.get("nonce") != self._nonce:
            raise BadFrame("a welcome that was not asked for")
        if (
            frame.get("v") != VERSION
            or frame.get("peer") != opened.peer
            or frame.get("epoch") != base64url(opened.epoch)
        ):
            raise BadFrame("the welcome contradicts itself")
        self._assembler = Assembler(
            "snapshot", int_field(frame, "chunks"), int_field(frame, "bytes")
        )
        self._epoch, self.peer, self._nonce = opened.epoch, opened.peer, ""
        self._own = Sequence(opened.counter)
        self._broadcasts = Sequence(int_field(frame, "broadcast"))
        self._counter = int_field(frame, "counter", 2**62)
        self._session = text_field(frame, "session", 100)
        self._left_out = int_field(frame, "from")
        self._received_at = self._now()
        self._patience = ANSWER_SECONDS
        self.state = "loading"
        self._send({"t": "hello", "v": VERSION, "name": self.name}, prove=self.keys.can_write)
        self._fetch()

    def _fetch(self) -> None:
        assert self._assembler is not None
        request = {"t": "fetch-chunk", "of": self._assembler.of, "index": self._assembler.next}
        self._send(request, prove=False)

    def _apply(self, frame: Json, rest: bytes, *, is_broadcast: bool) -> list[Update]:
        kind = frame["t"]
        if kind == "snapshot-chunk":
            return self._add_chunk(frame, rest)
        of = None if self._assembler is None else self._assembler.of
        if kind == "error" and frame.get("code") == "gone" and frame.get("re") in (None, of):
            self.rejoin()
            return []
        if is_broadcast and self._assembler is not None and kind not in ("bye", "resync"):
            self._queued.append(frame)
            if len(self._queued) > MAX_QUEUED:
                self.rejoin()
            return []
        if kind == "error" and frame.get("code") == "key":
            raise LinkRefused
        if kind == "resync":
            self.rejoin()
            return []
        return self._pass_on(frame)

    def _pass_on(self, frame: Json) -> list[Update]:
        if frame["t"] == "deferred":
            self._assembler = Assembler(
                text_field(frame, "of", 64),
                int_field(frame, "count"),
                int_field(frame, "bytes"),
                limit=MAX_ENTRY * 3,
            )
            self._fetch()
            return []
        return [FrameReceived(frame=frame)]

    def _add_chunk(self, frame: Json, data: bytes) -> list[Update]:
        assembler = self._assembler
        if assembler is None:
            return []
        before = assembler.next
        body = assembler.add(frame, data)
        if body is None:
            if assembler.next != before:
                self._fetch()
            return []
        self._assembler = None
        updates: list[Update] = []
        if assembler.of == "snapshot":
            self.state = "live"
            updates.append(
                SnapshotReceived(
                    session=self._session, left_out=self._left_out, snapshot=parse_snapshot(body)
                )
            )
        else:
            updates += self._pass_on(decode(body)[0])
        while self._queued and self._assembler is None:
            updates += self._pass_on(self._queued.popleft())
        return updates

    # Writing --------------------------------------------------------------------------------------

    def write(self, frame: Json) -> None:
        """Send a frame that needs the write right; raises ``CannotWrite``."""
        if not self.keys.can_write:
            raise CannotWrite(
                "This link is read-only.", hint="Ask the host for a full link to send prompts."
            )
        if len(encode(frame)) > MAX_PROMPT - OVERHEAD:
            raise CannotWrite(
                "The prompt is too large to send to the host.", hint="Leave out images."
            )
        if self.state not in ("loading", "live"):
            raise CannotWrite("The host is not connected.", hint="Try again in a moment.")
        self._send(frame, prove=True)

    def leave(self) -> None:
        """Send ``bye``, if the host is there."""
        if self.state in ("loading", "live"):
            self._send({"t": "bye"}, prove=False)

    def _send(self, frame: Json, *, prove: bool) -> None:
        self._counter += 1
        sealed = self._sealer.seal(
            encode(frame),
            direction=FROM_GUEST,
            peer=self.peer,
            epoch=self._epoch,
            counter=self._counter,
            prove=prove,
            sent_peer=EVERYONE,
        )
        self.outgoing.append(sealed)


class VersionRefused(PiError):
    """The host uses another version of the protocol."""
