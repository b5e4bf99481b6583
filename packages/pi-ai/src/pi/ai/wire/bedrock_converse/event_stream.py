"""Binary frames of AWS's event streams. Pure.

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
from pi.ai.wire_support.sse import ServerEvent

EXCEPTION = "exception:"
"""Prefix of the name of an event that is an error; the kind of error follows."""

LARGEST_FRAME = 24 * 1024 * 1024 + 128 * 1024
"""Bytes; AWS itself sends no larger ones."""

MAX_FIRST_BYTES = 4096

_PRELUDE = Struct(">III")

_CHECKSUM = Struct(">I")

_OVERHEAD = _PRELUDE.size + _CHECKSUM.size

_LENGTH = Struct(">H")

_BYTES, _STRING = 6, 7

_FIXED_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; byte arrays and strings have a length field."""


class EventStreamReader:
    """Splits bytes, in any pieces, into complete events."""

    def __init__(self) -> None:
        self._held = bytearray()
        """The beginning of an incomplete frame."""
        self._needed = _PRELUDE.size
        """Bytes needed before anything can be decoded."""
        self.first_bytes = b""
        """The start of a body without frames, for the error message."""
        self.seen_event = False
        self._names: dict[bytes, str] = {}
        """Decoded header blocks: a response repeats a handful of them."""

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that ``chunk`` completes, then raise ``BadAnswer`` if one is
        damaged."""
        if self._held:
            self._held += chunk
            if len(self._held) < self._needed:
                return
            data, self._held = bytes(self._held), bytearray()
        else:
            data = chunk
        offset, size = 0, len(data)
        while size - offset >= _PRELUDE.size:
            length, headers_length, checksum = _PRELUDE.unpack_from(data, offset)
            if (computed := crc32(data[offset : offset + 8])) != checksum:
                if not self.seen_event:  # not an event stream: a page, or JSON
                    self.first_bytes = data[:MAX_FIRST_BYTES]
                    self._held, self._needed = bytearray(self.first_bytes), _PRELUDE.size
                    return
                raise BadAnswer("An event of the stream is damaged: its prelude is wrong.")
            if length < _OVERHEAD + headers_length:
                raise BadAnswer(f"An event of the stream cannot be {length} bytes long.")
            if length > LARGEST_FRAME:
                raise AnswerTooLarge(
                    f"The server announced an event of {length} bytes; "
                    f"the limit is {LARGEST_FRAME} bytes."
                )
            end = offset + length
            if end > size:
                self._needed = length
                break
            content = data[offset + 8 : end - 4]
            if crc32(content, computed) != _CHECKSUM.unpack_from(data, end - 4)[0]:
                raise BadAnswer("An event of the stream is damaged: its checksum is wrong.")
            split = 4 + headers_length
            self.seen_event = True
            yield self._event(content[4:split], content[split:])
            offset = end
            self._needed = _PRELUDE.size
        self._held += data[offset:]

    def finish(self) -> list[ServerEvent]:
        """Return nothing: an incomplete frame is not an event."""
        if not self.seen_event:
            self.first_bytes = bytes(self._held[:MAX_FIRST_BYTES])
        return []

    def _event(self, block: bytes, payload: bytes) -> ServerEvent:
        name = self._names.get(block)
        if name is None:
            headers = read_headers(block)
            if headers.get(":message-type") == "error":  # has no payload
                fields = json_bytes({"message": headers.get(":error-message", "")})
                return EXCEPTION + headers.get(":error-code", ""), fields
            name = self._names[block] = _name(headers)
        return name, payload


def read_headers(block: bytes) -> dict[str, str]:
    """Return the string headers of a frame; raises ``BadAnswer`` if they are malformed."""
    headers: dict[str, str] = {}
    offset = 0
    try:
        while offset < len(block):
            start = offset + 1
            offset = start + block[offset]
            name, kind = block[start:offset].decode(), block[offset]
            offset += 1
            if kind in (_BYTES, _STRING):
                size = _LENGTH.unpack_from(block, offset)[0]
                offset += _LENGTH.size
            else:
                size = _FIXED_SIZES[kind]
            if kind == _STRING:
                headers[name] = block[offset : offset + size].decode()
            offset += size
    except (IndexError, KeyError, StructError, UnicodeDecodeError) as error:
        raise BadAnswer("An event of the stream has malformed headers.") from error
    return headers


def _name(headers: dict[str, str]) -> str:
    if kind := headers.get(":exception-type"):
        return EXCEPTION + kind
    return headers.get(":event-type", "")
