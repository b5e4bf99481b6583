"""The last snapshot on disk, encrypted: a session starts without waiting for the broker."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from pi.batteries.auth_broker.protocol import BrokerSnapshot
from pi.extension import FileAccessError, replace_file

_MAGIC = b"PIAB1"
_NONCE = 12


class SnapshotCache:
    """AES-256-GCM under SHA-256 of the token; the URL of the broker is authenticated as well.

    A file of another broker or of an older token cannot be decrypted, and counts as missing.
    """

    def __init__(self, path: Path, *, token: str, url: str) -> None:
        self._path = path
        self._key = hashlib.sha256(token.encode()).digest()
        self._url = url.encode()

    def read(self) -> BrokerSnapshot | None:
        """Returns the stored snapshot; ``None`` if there is none that can be read."""
        # Deferred import: OpenSSL costs some milliseconds.
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            data = self._path.read_bytes()
        except OSError:
            return None
        if not data.startswith(_MAGIC):
            return None
        nonce, sealed = data[len(_MAGIC) :][:_NONCE], data[len(_MAGIC) + _NONCE :]
        try:
            plain = AESGCM(self._key).decrypt(nonce, sealed, self._url)
            return msgspec.json.decode(plain, type=BrokerSnapshot)
        except (InvalidTag, ValueError, msgspec.MsgspecError):
            return None

    def write(self, snapshot: BrokerSnapshot) -> None:
        """Store a snapshot. A disk that is full or read-only does not matter."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(_NONCE)
        sealed = AESGCM(self._key).encrypt(nonce, msgspec.json.encode(snapshot), self._url)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path, _MAGIC + nonce + sealed)
        except (OSError, FileAccessError):
            return

    def clear(self) -> None:
        """Remove the file, e.g. after the broker refused the token."""
        self._path.unlink(missing_ok=True)
