"""Frames: encryption, proof of the write right, and protection against replays. No I/O.

The layout is described in docs/reference/collab-protocol.md.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from struct import Struct
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pi.extension import Record

VERSION: Final = 5
MAX_FRAME: Final = 786_432
FROM_HOST: Final = 0
FROM_GUEST: Final = 1
EVERYONE: Final = 0
"""The peer id of broadcasts."""
NO_EPOCH: Final = bytes(16)
"""The epoch of the first ``hello``, which a guest sends before it knows one."""

_HEAD = Struct(">IBB16sQ")
_BOUND = Struct(">BI16sQ")
_PROVED = Struct(">IQ")
_IV = 12
_TAG = 16
_MAC = 32
_HAS_MAC = 1
OVERHEAD: Final = _HEAD.size + _IV + _TAG + _MAC
"""Bytes of a frame besides its plaintext."""


class BadFrame(Exception):
    """A frame that is not accepted. It is dropped; the session continues."""


class WrongKey(BadFrame):
    """A frame that was sealed or proved with another key, or was changed."""


class Keys(Record):
    """The secrets of a room."""

    room: bytes
    """16 bytes, known to the relay."""
    key: bytes
    """32 bytes: encrypts and decrypts frames."""
    token: bytes = b""
    """16 bytes: proves the write right; empty for a viewer."""

    @classmethod
    def new(cls) -> Keys:
        """The keys of a new room."""
        return cls(room=os.urandom(16), key=os.urandom(32), token=os.urandom(16))

    @property
    def can_write(self) -> bool:
        """Whether these keys can prove the write right."""
        return bool(self.token)

    def view_only(self) -> Keys:
        """The keys for viewers."""
        return Keys(room=self.room, key=self.key)


class Opened(Record):
    """A frame that was decrypted."""

    peer: int
    epoch: bytes
    counter: int
    plaintext: bytes
    proved: bool
    """Whether its sender has the write token."""


class Sealer:
    """Seals and opens the frames of one room. It keeps no state about peers."""

    def __init__(self, keys: Keys, random: Callable[[int], bytes] = os.urandom) -> None:
        self._keys = keys
        self._cipher = AESGCM(keys.key)
        self._random = random
        self._write_key: tuple[bytes, bytes] = (b"", b"")

    def seal(
        self,
        plaintext: bytes,
        *,
        direction: int,
        peer: int,
        epoch: bytes,
        counter: int,
        prove: bool = False,
        sent_peer: int | None = None,
    ) -> bytes:
        """Encrypt a frame. ``sent_peer`` is the id in its head if it differs: guests send 0.

        Raises ``BadFrame`` if the frame is too large.
        """
        iv = self._random(_IV)
        sealed = self._cipher.encrypt(iv, plaintext, _BOUND.pack(direction, peer, epoch, counter))
        head = _HEAD.pack(
            peer if sent_peer is None else sent_peer,
            VERSION,
            _HAS_MAC if prove else 0,
            epoch,
            counter,
        )
        proof = self._proof(peer, epoch, counter, iv + sealed) if prove else b""
        frame = head + iv + sealed + proof
        if len(frame) > MAX_FRAME:
            raise BadFrame(f"the frame has {len(frame)} bytes; the limit is {MAX_FRAME}")
        return frame

    def open(self, frame: bytes, *, direction: int) -> Opened:
        """Decrypt a frame and verify its proof, if it has one; raises ``BadFrame``."""
        if not _HEAD.size + _IV + _TAG <= len(frame) <= MAX_FRAME:
            raise BadFrame("the size is invalid")
        peer, version, flags, epoch, counter = _HEAD.unpack_from(frame)
        if version != VERSION:
            raise BadFrame(f"protocol version {version}")
        if flags & ~_HAS_MAC:
            raise BadFrame("unknown flags")
        # A guest does not know its id yet when it sends hello.
        bound = EVERYONE if epoch == NO_EPOCH else peer
        body, proof = frame[_HEAD.size :], b""
        if flags & _HAS_MAC:
            body, proof = body[:-_MAC], body[-_MAC:]
            if len(body) < _IV + _TAG:
                raise BadFrame("the size is invalid")
        try:
            plaintext = self._cipher.decrypt(
                body[:_IV], body[_IV:], _BOUND.pack(direction, bound, epoch, counter)
            )
        except InvalidTag:
            raise WrongKey("it does not decrypt") from None
        proved = False
        if proof:
            if not self._keys.token:
                raise BadFrame("the proof cannot be verified without the token")
            if not hmac.compare_digest(proof, self._proof(bound, epoch, counter, body)):
                raise WrongKey("the proof of the write right is wrong")
            proved = True
        return Opened(peer=peer, epoch=epoch, counter=counter, plaintext=plaintext, proved=proved)

    def _proof(self, peer: int, epoch: bytes, counter: int, ciphertext: bytes) -> bytes:
        key_epoch, key = self._write_key
        if key_epoch != epoch or not key:
            key = write_key(self._keys.token, self._keys.room, epoch)
            self._write_key = (epoch, key)
        return hmac.digest(key, _PROVED.pack(peer, counter) + ciphertext, "sha256")


def write_key(token: bytes, room: bytes, epoch: bytes) -> bytes:
    """HKDF-SHA-256 of the write token; room and epoch are the info, the salt is empty."""
    if not token:
        raise BadFrame("a view-only link has no write token")
    extracted = hmac.digest(bytes(32), token, "sha256")
    return hmac.digest(extracted, room + epoch + b"\x01", "sha256")


class Sequence:
    """Checks that the counters of one sender increase."""

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def accept(self, counter: int) -> bool:
        """Accept a counter; returns whether numbers before it are missing.

        Raises ``BadFrame`` if it is not above the last one.
        """
        if counter <= self.last:
            raise BadFrame(f"the counter {counter} was used before")
        missing = counter != self.last + 1
        self.last = counter
        return missing


def takeover_hash(secret: bytes) -> bytes:
    """The hash that a host registers with its room, to prove later that it is the same host."""
    return hashlib.sha256(secret).digest()
