"""Counts the failed attempts of requests, so that a repeated request can say that it is one.

Retries happen in several places: while a request is sent, after a failed answer of the agent, in
a compaction. All of them send the same bytes again.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

MAX_FAILED = 64
"""Failed requests that are remembered; those that failed last."""


class FailedRequests:
    """Numbers of failed attempts by body."""

    def __init__(self) -> None:
        self._attempts: OrderedDict[bytes, int] = OrderedDict()

    def attempts(self, body: bytes) -> int:
        """Return how often a request with this body failed since the last one that succeeded."""
        # Most sessions have no failures: their bodies are not hashed.
        return self._attempts.get(_digest(body), 0) if self._attempts else 0

    def add(self, body: bytes) -> None:
        """A request has failed."""
        digest = _digest(body)
        self._attempts[digest] = self._attempts.pop(digest, 0) + 1
        if len(self._attempts) > MAX_FAILED:
            self._attempts.popitem(last=False)

    def forget(self, body: bytes) -> None:
        """A request has succeeded: the next one with this body is a new one."""
        if self._attempts:
            self._attempts.pop(_digest(body), None)


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()
