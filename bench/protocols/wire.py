"""The interface of a protocol of the mock server."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bench.protocols.script import Json, Script
from pi.base.records import Record

CREATED = 1_767_225_600
"""Creation time of every answer (start of 2026, UTC): equal requests get equal bytes."""

REQUEST_ID = "req_mock"


class Question(Record):
    """A request, as far as an answer depends on it."""

    model: str
    script: Script
    body: Json
    prompt_tokens: int = 1

    def listed(self, key: str) -> list[Json]:
        """The objects in the body's list ``key``; nothing if it is no list."""
        value = self.body.get(key)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class Reply(Record):
    """A streamed answer: one chunk per event. Only the deltas in the middle are paced."""

    opening: tuple[bytes, ...]
    deltas: tuple[bytes, ...]
    closing: tuple[bytes, ...]

    @property
    def chunks(self) -> tuple[bytes, ...]:
        """All chunks in order."""
        return self.opening + self.deltas + self.closing


class Wire(Record):
    """One protocol."""

    path: str
    """The end of the path of its requests; any path before it is accepted."""
    required: tuple[str, ...]
    """Body fields without which the real service answers 400."""
    request_id_header: str
    stream: Callable[[Question], Reply]
    problem: Callable[[int, str, str | None], Json]
    """The error body for a status, a message and, where the protocol has one, a code."""
    whole: Callable[[Question], Json] | None = None
    """None where every answer to this path is a stream."""


def event(data: Json, *, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(data) + b"\n\n"
