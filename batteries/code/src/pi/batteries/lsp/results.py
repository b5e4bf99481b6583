"""Results of language servers as text for the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pi.batteries.lsp.positions import PositionedText
from pi.batteries.lsp.protocol import SEVERITIES, SYMBOL_KINDS
from pi.extension import Json, Record, field


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
