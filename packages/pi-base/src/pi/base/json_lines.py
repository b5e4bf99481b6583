"""JSON Lines: one JSON value per line, as session files, RPC and JSON mode use it.

Lines end with LF and nothing else. CR, VT, FF, U+2028 and U+2029 are data. The last two and U+0085
are written as escapes: readers like ``str.splitlines`` end a line there.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

_EXCERPT = 60
_LINE_ENDS = (
    (b"\xc2\x85", rb"\u0085"),
    (b"\xe2\x80\xa8", rb"\u2028"),
    (b"\xe2\x80\xa9", rb"\u2029"),
)
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = (
    # First alternative: an array or object without a nested one, decoded in one go.
    rb'(?s)[ \t\r\n]*+([\[{][^\[\]{}"]*+(?:%b[^\[\]{}"]*+)*+[\]}]|[\[\]{}:,]|%b|[^\[\]{}:,"\s]++)'
    % (_STRING, _STRING)
)
"""Possessive, so that each character is read at most twice whatever the input.

Compiled when it is first used: most starts read no line that needs it.
"""


class BadLine(ValueError):
    """A line that is not a JSON value: the reason and its beginning.

    Code that reports it to the user adds the file or peer.
    """

    def __init__(self, reason: str, line: bytes) -> None:
        self.reason = reason
        self.excerpt = line[:_EXCERPT].decode("utf-8", "replace")
        super().__init__(f"{reason}: {self.excerpt!r}")


class LineSplitter:
    """Splits a stream of bytes, arriving in chunks of any size, into lines.

    A line longer than ``limit`` bytes is reported as soon as it is too long, and the rest of it is
    dropped without being kept in memory.
    """

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes | BadLine]:
        """Return the lines that ``chunk`` completes, without LF, and a ``BadLine`` for each too
        long."""
        lines: list[bytes | BadLine] = []
        *endings, beginning = chunk.split(b"\n")
        for ending in endings:
            self._hold(ending, lines)
            if not self._dropping:
                lines.append(self._release())
            self._dropping = False
        self._hold(beginning, lines)
        return lines

    def finish(self) -> bytes:
        """Return the bytes after the last LF at the end of the stream; empty if there are none."""
        self._dropping = False
        return self._release()

    def _hold(self, piece: bytes, lines: list[bytes | BadLine]) -> None:
        if self._dropping:
            return
        self._buffer += piece
        if self._limit is not None and len(self._buffer) > self._limit:
            reason = f"The line is longer than {self._limit} bytes"
            lines.append(BadLine(reason, self._release()[: self._limit]))
            self._dropping = True

    def _release(self) -> bytes:
        line = bytes(self._buffer)
        self._buffer.clear()
        return line


def encode_line(value: object) -> bytes:
    """Return ``value`` as one line of JSON, with its LF.

    NaN and infinities become null, lone surrogates U+FFFD. Raises ``TypeError`` for a value that
    JSON cannot represent.
    """
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_plain_raw)
        encoded = msgspec.json.encode(replace_surrogates(plain))
    # Only a msgspec.Raw can contain an LF, and in JSON that is always white space.
    return escape_line_ends(encoded.replace(b"\n", b" ")) + b"\n"


def escape_line_ends(json: bytes) -> bytes:
    """Return JSON with U+0085, U+2028 and U+2029 as ``\\u`` escapes: the same value.

    They can stand only in strings, and UTF-8 has no other place for their bytes.
    """
    for character, escape in _LINE_ENDS:
        json = json.replace(character, escape)
    return json


def decode_line(line: bytes) -> object:
    """Return the JSON value of ``line``; raises ``BadLine`` if it is invalid.

    An escaped lone surrogate, which JavaScript writes, is read as U+FFFD.
    """
    try:
        return _decode(line)
    except msgspec.DecodeError as error:
        raise BadLine(f"The line is not valid JSON ({error})", line) from error
    except UnicodeDecodeError as error:
        raise BadLine("The line is not valid UTF-8", line) from error
    except RecursionError as error:
        raise BadLine("The line is nested too deeply", line) from error


def decode_deep_line(line: bytes) -> object:
    """Like ``decode_line`` for any nesting depth; takes about ten times as long.

    The tree of a session nests once per entry. Do not compare, print or copy the value as a whole:
    Python does that by recursion.
    """
    try:
        return decode_line(line)
    except BadLine as error:
        if not isinstance(error.__cause__, RecursionError):
            raise
    try:
        return _decode_deep(line)
    except ValueError as error:  # an invalid token, or tokens in the wrong order
        raise BadLine(f"The line is not valid JSON ({error})", line) from error


def _decode_deep(line: bytes) -> object:
    value, token_at = _DeepValue(), re.compile(_TOKEN).match
    offset, end = 0, len(line.rstrip(b" \t\r\n"))
    while offset < end:
        if (match := token_at(line, offset)) is None:
            raise ValueError(f"invalid character at byte {offset}")
        token, offset = match[1], match.end()
        if not value.accept(token):
            raise ValueError(f"unexpected {token[:20].decode(errors='replace')!r} at byte {offset}")
    return value.result()


class _DeepValue:
    """Builds a JSON value from its tokens."""

    def __init__(self) -> None:
        self._root: list[Any] = []
        self._open: list[list[Any] | dict[str, Any]] = [self._root]
        """Open arrays and objects, innermost last."""
        self._keys: list[str] = []
        """The keys whose values have not ended."""
        self._expected = "value"
        """The expected token; ``item`` and ``member`` also allow the end of the container."""

    def accept(self, token: bytes) -> bool:
        """Add the next token; returns False if it is not allowed here."""
        match self._expected, token:
            case (("item" | "member" | "separator"), (b"]" | b"}")):
                return self._close(token)
            case "separator", b"," if len(self._open) > 1:
                self._expected = "value" if isinstance(self._open[-1], list) else "key"
            case (("key" | "member"), _) if token.startswith(b'"'):
                self._keys.append(str(_decode(token)))
                self._expected = "colon"
            case "colon", b":":
                self._expected = "value"
            case (("value" | "item"), _) if token not in b"]}:,":
                self._add(token)
            case _:
                return False
        return True

    def result(self) -> object:
        """Return the value; raises ``ValueError`` if it is not complete."""
        if len(self._open) > 1 or not self._root:
            raise ValueError("input ends too early")
        return self._root[0]

    def _close(self, token: bytes) -> bool:
        self._expected = "separator"
        kind = list if token == b"]" else dict
        return isinstance(self._open.pop(), kind) and bool(self._open)

    def _add(self, token: bytes) -> None:
        value: Any = {} if token == b"{" else [] if token == b"[" else _decode(token)
        inner = self._open[-1]
        if isinstance(inner, list):
            inner.append(value)
        else:
            inner[self._keys.pop()] = value
        self._expected = "separator"
        if token in b"[{":
            self._open.append(value)
            self._expected = "item" if token == b"[" else "member"


def _decode(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        mended = replace_surrogate_escapes(line)
        if mended == line:
            raise
        return msgspec.json.decode(mended)


def _plain_raw(value: object) -> object:
    if isinstance(value, msgspec.Raw):  # already JSON, which only the encoder itself accepts
        return msgspec.json.decode(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
