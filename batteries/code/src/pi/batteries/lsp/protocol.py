"""Messages of language servers, and the reader of their stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pi.extension import Json, PiError

MAX_HEADER = 4096
MAX_MESSAGE = 64 * 1024 * 1024
SEVERITIES = {1: "error", 2: "warning", 3: "info", 4: "hint"}
SYMBOL_KINDS = (
    *("", "file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string", "number"),
    *("boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator"),
    "type parameter",
)


class BadLspMessage(PiError):
    """The output of a server is not a sequence of protocol messages."""


def encode_message(message: Mapping[str, Any]) -> bytes:
    """A message with its header."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class MessageReader:
    """Splits the output of a server into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._size: int | None = None

    def feed(self, data: bytes) -> list[Json]:
        """The messages that are complete with ``data``. Raises ``BadLspMessage``."""
        self._buffer += data
        messages: list[Json] = []
        while (body := self._next()) is not None:
            try:
                message = json.loads(body)
            except ValueError as error:
                raise BadLspMessage(f"A message is not valid JSON: {error}.") from error
            if not isinstance(message, dict):
                raise BadLspMessage("A message is not a JSON object.")
            messages.append(message)
        return messages

    def _next(self) -> bytes | None:
        if self._size is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEADER:
                    raise BadLspMessage("The output has no Content-Length header.")
                return None
            self._size = _content_length(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
        if len(self._buffer) < self._size:
            return None
        body = bytes(self._buffer[: self._size])
        del self._buffer[: self._size]
        self._size = None
        return body


def _content_length(header: bytes) -> int:
    # Some servers print a line to standard output before the first message: it is skipped.
    for line in header.split(b"\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            size = int(value)
            if size > MAX_MESSAGE:
                raise BadLspMessage(
                    f"A message of {size} bytes is too large; {MAX_MESSAGE} allowed."
                )
            return size
    raise BadLspMessage("A message has no Content-Length header.")


# Positions ----------------------------------------------------------------------------------------
