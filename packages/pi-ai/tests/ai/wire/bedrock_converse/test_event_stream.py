from __future__ import annotations

from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import AnswerTooLarge, BadAnswer
from pi.ai.wire.bedrock_converse.event_stream import EventStreamReader, read_headers
from tests.ai.http.splits import splits


def string_header(name: str, value: str) -> bytes:
    raw = value.encode()
    return header(name, 7, pack(">H", len(raw)) + raw)


def header(name: str, kind: int, value: bytes) -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([kind]) + value


def frame(headers: bytes, payload: bytes) -> bytes:
    prelude = pack(">II", 16 + len(headers) + len(payload), len(headers))
    start = prelude + pack(">I", crc32(prelude)) + headers + payload
    return start + pack(">I", crc32(start))


def event(name: str, payload: bytes = b"{}") -> bytes:
    headers = string_header(":event-type", name) + string_header(":message-type", "event")
    return frame(headers, payload)


STREAM = event("one", b'{"a":1}') + event("two", b"") + event("one", b'{"a":2}')
EVENTS = [("one", b'{"a":1}'), ("two", b""), ("one", b'{"a":2}')]


@given(splits(STREAM))
def test_events_are_read_from_a_body_split_anywhere(pieces: list[bytes]) -> None:
    reader = EventStreamReader()

    found = [event for piece in pieces for event in reader.feed(piece)]

    assert [*found, *reader.finish()] == EVENTS
    assert reader.first_bytes == b""


def test_the_name_of_an_exception_event_contains_its_type() -> None:
    headers = string_header(":exception-type", "throttlingException") + string_header(
        ":message-type", "exception"
    )

    events = EventStreamReader().feed(frame(headers, b'{"message":"slow"}'))

    assert list(events) == [("exception:throttlingException", b'{"message":"slow"}')]


def test_an_error_without_a_payload_has_its_message() -> None:
    headers = (
        string_header(":message-type", "error")
        + string_header(":error-code", "InternalError")
        + string_header(":error-message", "broken")
    )

    events = EventStreamReader().feed(frame(headers, b""))

    assert list(events) == [("exception:InternalError", b'{"message":"broken"}')]


def test_headers_that_are_not_strings_are_skipped() -> None:
    sizes = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
    others = b"".join(header(f"h{kind}", kind, bytes(size)) for kind, size in sizes.items())
    raw = header("bytes", 6, pack(">H", 3) + b"abc")

    headers = read_headers(others + raw + string_header("name", "wörld"))

    assert headers == {"name": "wörld"}


@pytest.mark.parametrize(
    "block",
    [
        b"\x05ab",
        header("name", 11, b""),
        header("name", 7, b"\x00"),
        header("name", 7, b"\x00\x01\xff"),
        b"\x01\xff\x00",
    ],
    ids=["short name", "unknown type", "short length", "no UTF-8 value", "no UTF-8 name"],
)
def test_malformed_headers_are_a_bad_answer(block: bytes) -> None:
    with pytest.raises(BadAnswer, match="malformed headers"):
        read_headers(block)


@given(at=st.integers(0, len(EVENTS[0][1]) + 60), flip=st.integers(1, 255))
def test_a_damaged_event_raises_after_the_events_before_it_are_returned(at: int, flip: int) -> None:
    good, second = event("one", b'{"a":1}'), event("two", b'{"b":2}')
    at = min(at, len(second) - 1)
    damaged = second[:at] + bytes([second[at] ^ flip]) + second[at + 1 :]
    reader = EventStreamReader()

    events = reader.feed(good + damaged + b"\x00" * 32)

    assert next(events) == ("one", b'{"a":1}')
    with pytest.raises(BadAnswer):
        next(events)


def test_an_impossible_frame_length_raises_bad_answer() -> None:
    prelude = pack(">II", 15, 0)

    with pytest.raises(BadAnswer, match="cannot be 15 bytes long"):
        list(EventStreamReader().feed(prelude + pack(">I", crc32(prelude))))


def test_a_frame_larger_than_the_limit_is_refused_before_it_arrives() -> None:
    prelude = pack(">II", 2**31, 0)

    with pytest.raises(AnswerTooLarge, match="event of 2147483648 bytes; the limit is") as problem:
        list(EventStreamReader().feed(prelude + pack(">I", crc32(prelude))))
    assert not problem.value.retryable


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize("page", [b"<html>Too busy</html>", b"busy"])
def test_a_body_without_frames_is_kept_for_an_error_message(page: bytes) -> None:
    reader = EventStreamReader()

    assert [*reader.feed(page[:3]), *reader.feed(page[3:]), *reader.finish()] == []
    assert reader.first_bytes == page


def test_an_incomplete_event_at_the_end_is_ignored() -> None:
    reader = EventStreamReader()

    assert list(reader.feed(event("one") + event("two")[:-1])) == [("one", b"{}")]
    assert reader.finish() == []
