"""Parses one response into status, headers and body, and decompresses it.

Pure: it does not use the socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpResponseParser,
)

from pi.base.records import Record

if TYPE_CHECKING:
    import zlib

MAX_HEAD_BYTES = 128 * 1024
MAX_HEADER_FIELDS = 256


class Malformed(Exception):
    """The data is not an acceptable response; the text says why."""


class Headers:
    """Header fields of a response: lower-case name and value, in the order of arrival."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple((name.lower(), value) for name, value in pairs)

    def get(self, name: str, default: str = "") -> str:
        """Return the value of ``name``; several fields of that name are joined with a comma."""
        return ", ".join(self.get_all(name)) or default

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return every value of ``name``, for fields that must not be joined (``Set-Cookie``)."""
        key_name = name.lower()
        return tuple(value for key, value in self._pairs if key == key_name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(key == name.lower() for key, _ in self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._pairs == other._pairs

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"Headers({list(self._pairs)!r})"


class ResponseHead(Record):
    """The part of a response before its body."""

    status: int
    headers: Headers


class ResponseParser:
    """Parses one response; feed it data, then read ``head``, ``body``, ``complete``.

    Informational responses (1xx) and trailers are skipped. ``bodiless`` is for responses to HEAD
    and CONNECT, whose headers may announce a body that never comes.
    """

    def __init__(self, *, bodiless: bool = False) -> None:
        self.head: ResponseHead | None = None
        self.body: list[bytes] = []
        """Pieces that arrived and were not taken yet."""
        self.complete = False
        self.started = False
        """Whether any byte arrived."""
        self.keep_alive = False
        """Whether the connection can be reused once this exchange is complete."""
        self._bodiless = bodiless
        self._ends_with_connection = False
        self._fields: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        # llhttp appends the pieces of a body to the list directly: no Python frame per chunk.
        self.on_body = self.body.append
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    def feed(self, data: bytes) -> None:
        """Parse the next bytes; raises ``Malformed`` if they are not part of a response."""
        self.started = True
        if self.complete:
            # more than announced: the start of the next response is unknown
            self.keep_alive = False
            return
        if self.head is None:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            raise Malformed("it switches to a protocol that was not asked for") from None
        except HttpParserError as error:
            self._refuse(error)
        if self.head is None and self._head_bytes > MAX_HEAD_BYTES:
            raise Malformed(f"its headers are larger than {MAX_HEAD_BYTES} bytes")
        if self._bodiless and self.body:
            self.body.clear()
            self.keep_alive = False

    def end(self) -> bool:
        """Handle the end of the connection; returns whether the response is complete."""
        if self.head is not None and self._ends_with_connection:
            self.complete = True
        return self.complete

    def on_message_begin(self) -> None:
        """llhttp: a response begins, which must not happen after the expected one."""
        if self.complete:
            raise Malformed("it is followed by another response")

    def on_header(self, name: bytes, value: bytes) -> None:
        """llhttp: one header field, or one trailer field, which is ignored."""
        if self.head is None:
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """llhttp: the head is complete; keep it unless it is informational."""
        fields, self._fields = self._fields, []
        status = self._parser.get_status_code()
        if status < 200:
            return
        if len(fields) > MAX_HEADER_FIELDS:
            raise Malformed(f"it has more than {MAX_HEADER_FIELDS} header fields")
        if sum(len(name) + len(value) for name, value in fields) > MAX_HEAD_BYTES:
            raise Malformed(f"its headers are larger than {MAX_HEAD_BYTES} bytes")
        headers = Headers(
            (name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in fields
        )
        coding = headers.get("transfer-encoding", "identity").lower()
        if coding not in ("chunked", "identity"):
            raise Malformed(f"its transfer coding {coding!r} is unknown")
        self.head = ResponseHead(status=status, headers=headers)
        self.keep_alive = self._parser.should_keep_alive()
        self._ends_with_connection = coding != "chunked" and "content-length" not in headers
        self.complete = self._bodiless

    def on_message_complete(self) -> None:
        """llhttp: the body has ended, or an informational response has."""
        self.complete = self.head is not None

    def _refuse(self, error: HttpParserError) -> None:
        if self.complete:
            self.keep_alive = False  # the response is complete; only what follows it is invalid
        elif isinstance(error, HttpParserCallbackError) and error.__context__ is not None:
            raise error.__context__
        else:
            raise Malformed(str(error)) from None


_STEP = 1 << 20
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15  # window sizes, by which zlib selects the format


class Inflater:
    """Decompresses gzip or deflate in bounded steps, so that a small body cannot fill the memory.

    Call ``feed`` with input, ``take`` until it returns nothing, and check ``finished`` at the end.
    Raises ``ValueError`` for invalid data.
    """

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._decoder: zlib._Decompress | None = None
        self._input = b""
        self._more_inside = False

    def feed(self, data: bytes) -> None:
        """Add compressed bytes."""
        self._input += data

    def take(self) -> bytes:
        """Return the next plain bytes, none if more input is needed."""
        import zlib  # lazy: most responses are not compressed

        while self._input or self._more_inside:
            decoder = self._decoder
            if decoder is None or decoder.eof:  # a gzip body may consist of several members
                if (decoder := self._new_decoder()) is None:
                    return b""
                self._decoder = decoder
            try:
                plain = decoder.decompress(self._input, _STEP)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            self._input = decoder.unconsumed_tail or decoder.unused_data
            self._more_inside = len(plain) == _STEP and not decoder.eof
            if plain:
                return plain
        return b""

    @property
    def finished(self) -> bool:
        """Whether the compressed data is complete; an empty body is."""
        return not self._input and (self._decoder is None or self._decoder.eof)

    def _new_decoder(self) -> zlib._Decompress | None:
        if self._window is None:
            if len(self._input) < 2:
                return None
            self._window = _deflate_window(self._input)
        import zlib  # lazy: as above

        return zlib.decompressobj(self._window)


def inflater_for(coding: str) -> Inflater:
    """Return the decoder of a content coding; raises ``ValueError`` for an unsupported one."""
    match coding:
        case "gzip" | "x-gzip":
            return Inflater(_GZIP)
        case "deflate":
            return Inflater(None)
        case unknown:
            raise ValueError(f"the content coding {unknown!r} is unknown")


def _deflate_window(start: bytes) -> int:
    """Distinguish zlib data from the raw deflate data that some servers send under the
    same name."""
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
    return _ZLIB if is_zlib else _RAW_DEFLATE
