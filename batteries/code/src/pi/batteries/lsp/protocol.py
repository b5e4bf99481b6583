"""The Language Server Protocol as values: frames, positions, addresses, edits. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pi.extension import Json, PiError, Record, field

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


# Addresses ----------------------------------------------------------------------------------------


def uri_of(path: Path) -> str:
    """The ``file://`` address of an absolute path."""
    text = path.as_posix()
    return "file://" + quote(text if text.startswith("/") else f"/{text}", safe="/~")


def path_of(uri: str) -> Path | None:
    """The path of a ``file://`` address; ``None`` for other addresses."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return Path(path[1:] if len(path) > 2 and path[2] == ":" else path)


# Positions ----------------------------------------------------------------------------------------


class PositionedText:
    """A text with the starts of its lines: converts positions of the protocol to offsets.

    A character of a position is a UTF-16 unit, unless the server has chosen another encoding.
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._encoding = encoding
        self._starts = [0]
        offset = 0
        for line in text.splitlines(keepends=True):
            offset += len(line)
            if line.endswith(("\n", "\r")):  # the protocol has no other line ends
                self._starts.append(offset)

    def offset(self, position: Mapping[str, Any]) -> int:
        """The offset of a position; positions after the end are moved to the end."""
        number = int(position["line"])
        if number >= len(self._starts):
            return len(self.text)
        line = self.line(number)
        return self._starts[number] + self._index(line, int(position["character"]))

    def position(self, number: int, column: int) -> Json:
        """The position of a line and column, both counted from 0."""
        line = self.line(number)[:column]
        return {"line": number, "character": self._units(line)}

    def position_at(self, offset: int) -> Json:
        """The position of an offset."""
        number = max(n for n, start in enumerate(self._starts) if start <= offset)
        return self.position(number, offset - self._starts[number])

    def line(self, number: int) -> str:
        """A line without its end; empty if it does not exist."""
        if number >= len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip("\r\n")

    @property
    def end(self) -> Json:
        """The position after the last character."""
        last = len(self._starts) - 1
        return self.position(last, len(self.line(last)))

    def _units(self, text: str) -> int:
        if self._encoding == "utf-32" or text.isascii():
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def _index(self, line: str, units: int) -> int:
        if self._encoding == "utf-32" or line.isascii():
            return min(units, len(line))
        seen = 0
        for index, character in enumerate(line):
            if seen >= units:
                return index
            seen += self._units(character)
        return len(line)


def apply_edits(text: str, edits: Iterable[Mapping[str, Any]], encoding: str = "utf-16") -> str:
    """The text with all edits applied. Raises ``BadLspMessage`` if they overlap."""
    lines = PositionedText(text, encoding)
    placed = sorted(
        (
            (lines.offset(edit["range"]["start"]), lines.offset(edit["range"]["end"]), number, edit)
            for number, edit in enumerate(edits)
        ),
        key=lambda span: span[:3],
    )
    pieces: list[str] = []
    position = 0
    for start, end, _, edit in placed:
        if start < position or end < start:
            raise BadLspMessage("The server returned edits that overlap; nothing was changed.")
        pieces += [text[position:start], str(edit["newText"])]
        position = end
    return "".join([*pieces, text[position:]])


# Results ------------------------------------------------------------------------------------------


class Diagnostic(Record):
    """A problem that a server reports. Line and column count from 1."""

    path: str
    line: int
    column: int
    severity: str
    message: str
    code: str = ""
    source: str = ""
    """The tool that the server names as source, or the server."""
    range: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)
    """As the server sent it, for code actions."""

    @property
    def is_problem(self) -> bool:
        """Whether it is an error or a warning."""
        return self.severity in ("error", "warning")

    def describe(self) -> str:
        """One line: place, severity, message and code."""
        text = " ".join(self.message.split())
        code = f" [{self.source} {self.code}]" if self.code else f" [{self.source}]"
        return f"{self.line}:{self.column} {self.severity}: {text}{code}"


def diagnostics_from(
    items: Iterable[Any], path: Path, lines: PositionedText, server: str
) -> tuple[Diagnostic, ...]:
    """Diagnostics of a document, sorted by place; invalid ones are dropped."""
    diagnostics: list[Diagnostic] = []
    for item in items:
        try:
            start = item["range"]["start"]
            number = int(start["line"])
            column = lines.offset(start) - lines.offset({"line": number, "character": 0})
            code = item.get("code", "")
            diagnostics.append(
                Diagnostic(
                    path=str(path),
                    line=number + 1,
                    column=column + 1,
                    severity=SEVERITIES.get(item.get("severity", 1), "error"),
                    message=_message_text(item.get("message", "")),
                    code="" if code is None else str(code),
                    source=str(item.get("source") or server),
                    range=item["range"],
                    raw=item,
                )
            )
        except (KeyError, TypeError, ValueError):
            continue
    return tuple(
        sorted(
            diagnostics,
            key=lambda diagnostic: (diagnostic.line, diagnostic.column, diagnostic.message),
        )
    )


def _message_text(message: Any) -> str:
    return str(message.get("value", "")) if isinstance(message, dict) else str(message)


def hover_text(contents: Any) -> str:
    """The text of a hover result in any of its forms."""
    if isinstance(contents, str):
        return contents
    if isinstance(contents, Mapping):
        value = str(contents.get("value", ""))
        language = contents.get("language")
        return f"```{language}\n{value}\n```" if language else value
    if isinstance(contents, Sequence):
        return "\n\n".join(filter(None, map(hover_text, contents)))
    return ""


def locations_from(result: Any) -> list[tuple[str, Json]]:
    """Addresses and ranges of a result: a location, a link, or a list of them."""
    if isinstance(result, Mapping):
        result = [result]
    locations: list[tuple[str, Json]] = []
    for item in result or ():
        if "targetUri" in item:
            locations.append(
                (item["targetUri"], item.get("targetSelectionRange", item["targetRange"]))
            )
        elif "uri" in item:
            locations.append((item["uri"], item["range"]))
    return locations


def symbol_kind(symbol: Json) -> str:
    """The kind of a symbol in words."""
    number = symbol.get("kind", 0)
    is_standard = isinstance(number, int) and number < len(SYMBOL_KINDS)
    return SYMBOL_KINDS[number] if is_standard else "symbol"


def symbol_rows(symbols: Any, depth: int = 0) -> list[str]:
    """A line for each symbol of a file; nested ones are indented."""
    rows: list[str] = []
    for symbol in symbols:
        range = symbol.get("selectionRange") or symbol.get("location", {}).get("range", {})
        line = range.get("start", {}).get("line", 0) + 1
        rows.append(f"{'  ' * depth}{symbol_kind(symbol)} {symbol['name']} :{line}")
        rows += symbol_rows(symbol.get("children") or (), depth + 1)
    return rows
