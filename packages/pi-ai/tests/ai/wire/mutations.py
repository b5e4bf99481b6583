"""Damaged answers: random bytes and mutated recordings. Pure functions."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

ODD_BYTES = (
    b"null",
    b"{}",
    b"[]",
    b'""',
    b"-1",
    b"1e999",
    b"\xff\xfe",
    b"\x00",
    b"\n\n",
    b"\r",
    b"data:",
    b"data: ",
    b"event: error\n",
    b"data: [DONE]\n\n",
    b"data: {}\n\n",
    b": comment\n\n",
    b"\\ud83d",
    b"[" * 3000,
    b'{"a":' * 3000,
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\u2028 \x00 👋",
    [],
    [None],
    {},
    {"a": {"b": None}},
    [[[]]],
)

FRAME_AROUND = 16
"""Bytes of an AWS frame beside its headers and its payload."""

ERROR_EVENTS = (
    b'{"error":{"message":"Invalid schema: strict","type":"invalid_request_error","code":400}}',
    b'{"type":"error","error":{"type":"invalid_request_error","message":"strict schema"}}',
    b'{"type":"error","code":"server_error","message":"x"}',
    b'{"error":null}',
)

Mutation = Callable[[Random, bytes], bytes]


@dataclass(frozen=True)
class Event:
    """One event of a recorded body: its JSON and the bytes around it."""

    before: bytes
    payload: bytes
    after: bytes


class SseFraming:
    """Server-sent events."""

    def split(self, body: bytes) -> list[Event]:
        """The events of ``body``."""
        return [self._event(piece) for piece in body.replace(b"\r\n", b"\n").split(b"\n\n")]

    def join(self, events: list[Event]) -> bytes:
        """The body that holds ``events``."""
        return b"\n\n".join(event.before + event.payload + event.after for event in events)

    def _event(self, piece: bytes) -> Event:
        head, mark, rest = piece.partition(b"data:")
        payload, newline, more = rest.partition(b"\n")
        return Event(before=head + mark, payload=payload, after=newline + more)


class AmazonFraming:
    """Binary frames with lengths and checksums, as AWS sends them."""

    def split(self, body: bytes) -> list[Event]:
        """The events of ``body``; ``before`` holds a frame's headers."""
        events = []
        while len(body) >= FRAME_AROUND:
            total, headers = struct.unpack(">II", body[:8])
            total = max(
                total, FRAME_AROUND
            )  # damage can make the length smaller than the frame overhead
            frame, body = body[:total], body[total:]
            events.append(Event(frame[12 : 12 + headers], frame[12 + headers : -4], b""))
        return events

    def join(self, events: list[Event]) -> bytes:
        """The body that holds ``events``, with valid checksums."""
        return b"".join(self._frame(event) for event in events)

    def _frame(self, event: Event) -> bytes:
        total = FRAME_AROUND + len(event.before) + len(event.payload)
        prelude = struct.pack(">II", total, len(event.before))
        head = prelude + struct.pack(">I", zlib.crc32(prelude))
        frame = head + event.before + event.payload
        return frame + struct.pack(">I", zlib.crc32(frame))


Framing = SseFraming | AmazonFraming


def damaged(random: Random, body: bytes, framing: Framing) -> bytes:
    """An answer that was recorded as ``body``, damaged in one of many ways; or noise."""
    kind = random.random()
    if kind < 0.05:
        return random.randbytes(random.randrange(600))
    if kind < 0.15:
        return framing.join([_noise(random) for _ in range(random.randrange(1, 5))])
    if kind < 0.25:
        return body[: random.randrange(len(body) + 1)]
    for _ in range(random.choice((1, 1, 2, 4))):
        if random.random() < 0.35:
            body = random.choice(BYTE_MUTATIONS)(random, body)
        else:
            events = framing.split(body)
            random.choice(EVENT_MUTATIONS)(random, events)
            body = framing.join(events)
    return body


def cut(random: Random, body: bytes) -> list[bytes]:
    """``body`` in a few pieces."""
    ends = sorted(random.randrange(len(body) + 1) for _ in range(random.randrange(6)))
    starts = [0, *ends]
    return [body[start:end] for start, end in zip(starts, [*ends, len(body)], strict=True)]


# Bytes -------------------------------------------------------------------------------------------


def _span(random: Random, body: bytes) -> tuple[int, int]:
    start = random.randrange(len(body) + 1)
    return start, min(len(body), start + random.choice((1, 1, 2, 8, 64)))


def _flip(random: Random, body: bytes) -> bytes:
    start, end = _span(random, body)
    return body[:start] + random.randbytes(end - start) + body[end:]


def _drop(random: Random, body: bytes) -> bytes:
    start, end = _span(random, body)
    return body[:start] + body[end:]


def _insert(random: Random, body: bytes) -> bytes:
    start, _ = _span(random, body)
    return body[:start] + random.choice(ODD_BYTES) + body[start:]


def _repeat(random: Random, body: bytes) -> bytes:
    start, end = _span(random, body)
    return body[:end] + body[start:]


BYTE_MUTATIONS: tuple[Mutation, ...] = (_flip, _drop, _insert, _repeat)


# Events ------------------------------------------------------------------------------------------


def _noise(random: Random) -> Event:
    payload = msgspec.json.encode(random.choice(ODD_VALUES[:4] + ODD_VALUES[5:]))
    return Event(b"data: ", random.choice((payload, random.randbytes(20), b"")), b"")


def _drop_event(random: Random, events: list[Event]) -> None:
    if events:
        events.pop(random.randrange(len(events)))


def _repeat_event(random: Random, events: list[Event]) -> None:
    if events:
        events.insert(random.randrange(len(events) + 1), random.choice(events))


def _insert_error(random: Random, events: list[Event]) -> None:
    around = random.choice(events).before if events else b"data: "
    event = Event(around, random.choice(ERROR_EVENTS), b"")
    events.insert(random.choice((0, random.randrange(len(events) + 1))), event)


def _swap_events(random: Random, events: list[Event]) -> None:
    if events:
        one, other = random.randrange(len(events)), random.randrange(len(events))
        events[one], events[other] = events[other], events[one]


def _change_event(random: Random, events: list[Event]) -> None:
    """Replace one value in the JSON of one event."""
    if not events:
        return
    at = random.randrange(len(events))
    try:
        value = msgspec.json.decode(events[at].payload)
    except (ValueError, RecursionError):
        return
    payload = msgspec.json.encode(_changed(random, value))
    events[at] = Event(events[at].before, payload, events[at].after)


def _changed(random: Random, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or random.random() < 0.1:
        return random.choice(ODD_VALUES)
    key: Any = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    copy = value.copy()
    if random.random() < 0.1:
        del copy[key]
    else:
        copy[key] = _changed(random, value[key])
    return copy


EVENT_MUTATIONS = (
    _change_event,
    _change_event,
    _change_event,
    _drop_event,
    _insert_error,
    _repeat_event,
    _swap_events,
)
