"""The binary frames in which AWS streams events. Pure.

A frame is a prelude (length of the frame, length of its headers, checksum of both), the headers,
the payload and a checksum of everything before it; numbers are big-endian.
https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from zlib import crc32

from pi.ai.errors import AnswerTooLarge, BadAnswer
from pi.ai.json_text import json_bytes
from pi.ai.sse import ServerEvent

EXCEPTION = "exception:"
"""Starts the name of an event that is an error; the kind of error follows."""

LARGEST_FRAME = 24 * 1024 * 1024 + 128 * 1024
"""Bytes; AWS itself sends no larger ones."""
MOST_FIRST_BYTES = 4096

_PRELUDE = Struct(">III")
_CHECKSUM = Struct(">I")
_AROUND = _PRELUDE.size + _CHECKSUM.size
_LENGTH = Struct(">H")
_BYTES, _STRING = 6, 7
_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; byte arrays and strings say it themselves."""


class EventStreamReader:
    """Feed it bytes in any pieces; it gives the events that are complete."""

    def __init__(self) -> None:
        self._held = bytearray()
        """The beginning of a frame whose end has not come."""
        self._wanted = _PRELUDE.size
        """Bytes that must be held before anything can be read."""
        self.first_bytes = b""
        """The start of a body that holds no frames, to explain it."""
        self._seen_event = False
        self._names: dict[bytes, str] = {}
        """Header blocks that are understood: an answer repeats a handful of them."""

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that ``chunk`` completes; after them ``BadAnswer`` when one is damaged."""
        if self._held:
            self._held += chunk
            if len(self._held) < self._wanted:
                return
            data, self._held = bytes(self._held), bytearray()
        else:
            data = chunk
        at, size = 0, len(data)
        while size - at >= _PRELUDE.size:
            length, headers_length, checksum = _PRELUDE.unpack_from(data, at)
            if (computed := crc32(data[at : at + 8])) != checksum:
                if not self._seen_event:  # no event stream at all: a page, or JSON
                    self.first_bytes = data[:MOST_FIRST_BYTES]
                    self._held, self._wanted = bytearray(self.first_bytes), _PRELUDE.size
                    return
                raise BadAnswer("An event of the stream is damaged: its prelude is wrong.")
            if length < _AROUND + headers_length:
                raise BadAnswer(f"An event of the stream cannot be {length} bytes long.")
            if length > LARGEST_FRAME:
                raise AnswerTooLarge(
                    f"The server announced an event of {length} bytes; "
                    f"the limit is {LARGEST_FRAME} bytes."
                )
            end = at + length
            if end > size:
                self._wanted = length
                break
            rest = data[at + 8 : end - 4]
            if crc32(rest, computed) != _CHECKSUM.unpack_from(data, end - 4)[0]:
                raise BadAnswer("An event of the stream is damaged: its checksum is wrong.")
            split = 4 + headers_length
            self._seen_event = True
            yield self._event(rest[4:split], rest[split:])
            at = end
            self._wanted = _PRELUDE.size
        self._held += data[at:]

    def finish(self) -> list[ServerEvent]:
        """Nothing: a frame that is not complete is no event."""
        if not self._seen_event:
            self.first_bytes = bytes(self._held[:MOST_FIRST_BYTES])
        return []

    def _event(self, block: bytes, payload: bytes) -> ServerEvent:
        name = self._names.get(block)
        if name is None:
            headers = read_headers(block)
            if headers.get(":message-type") == "error":  # has no payload
                told = json_bytes({"message": headers.get(":error-message", "")})
                return EXCEPTION + headers.get(":error-code", ""), told
            name = self._names[block] = _name(headers)
        return name, payload


def read_headers(block: bytes) -> dict[str, str]:
    """The headers of a frame whose values are strings; ``BadAnswer`` when they are malformed."""
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(block):
            start = at + 1
            at = start + block[at]
            name, kind = block[start:at].decode(), block[at]
            at += 1
            if kind in (_BYTES, _STRING):
                size = _LENGTH.unpack_from(block, at)[0]
                at += _LENGTH.size
            else:
                size = _FIXED_SIZES[kind]
            if kind == _STRING:
                headers[name] = block[at : at + size].decode()
            at += size
    except (IndexError, KeyError, StructError, UnicodeDecodeError) as problem:
        raise BadAnswer("An event of the stream has malformed headers.") from problem
    return headers


def _name(headers: dict[str, str]) -> str:
    if kind := headers.get(":exception-type"):
        return EXCEPTION + kind
    return headers.get(":event-type", "")
