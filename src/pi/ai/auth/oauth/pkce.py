"""Proof Key for Code Exchange (RFC 7636), and the state that ties an answer to its question."""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64encode

from pi.base.ids import RandomBytes
from pi.base.records import Record


class Pkce(Record):
    """The secrets of one authorization.

    The state travels through browser and address bar, so it must not be the verifier; the
    original pi uses one value for both with Anthropic, whose server takes any.
    """

    verifier: str
    state: str

    @property
    def challenge(self) -> str:
        """What the server is told first; only who has the verifier can answer it (S256)."""
        return _base64url(hashlib.sha256(self.verifier.encode()).digest())


def new_pkce(random_bytes: RandomBytes = os.urandom) -> Pkce:
    """Fresh secrets."""
    return Pkce(verifier=_base64url(random_bytes(32)), state=_base64url(random_bytes(24)))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
