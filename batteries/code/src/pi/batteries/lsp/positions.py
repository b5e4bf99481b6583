"""Addresses of files, and positions in their text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pi.batteries.lsp.protocol import BadLspMessage
from pi.extension import Json


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
