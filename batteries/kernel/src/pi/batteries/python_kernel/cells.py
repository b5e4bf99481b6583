"""The cells of one call and their output as text, images and details. Pure."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from pi.extension import Image, OutputSink, Record, replace

MAX_DETAILS = 20_000
"""Characters at the end of a cell's output that are kept for views."""
STATUS_TYPE = "application/x-pi-status"
MAX_STATUS_EVENTS = 1000
NO_INPUT = "[input() is not supported here: pass the data in the code]\n"
_EMPTY_REPR = r"<IPython\.core\.display\.\w+ object>"
"""The plain text of IPython's own display objects, which is of no use."""
_BLOCKS = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3", "h4", "table", "pre", "ul"})


class Cell(Record):
    """One cell, for views and clients."""

    index: int
    code: str
    title: str = ""
    status: str = "pending"
    """``pending``, ``running``, ``ok``, ``error`` or ``interrupted``."""
    output: str = ""
    """The end of its output."""
    duration_ms: int = 0
    status_events: tuple[dict[str, Any], ...] = ()
    """Reports of helpers: ``{"op": "read", "path": …}``."""
    images: int = 0
    """Number of displayed images."""


class Transcript:
    """Collects the frames of the cells of one call."""

    def __init__(self, language: str, cells: list[Cell], sink: OutputSink) -> None:
        self.language = language
        self.cells = cells
        self.images: list[Image] = []
        self.is_cancelled = False
        """Whether a timeout or the user has interrupted a cell."""
        self._json: list[Any] = []
        self._sink = sink
        self.input_requested = False

    @property
    def details(self) -> dict[str, Any]:
        """The cells and structured outputs, as JSON."""
        details: dict[str, Any] = {
            "language": self.language,
            "cells": [_cell_details(cell) for cell in self.cells],
            "jsonOutputs": self._json,
        }
        if self.is_cancelled:
            details["cancelled"] = True
        if self.input_requested:
            details["stdinRequested"] = True
        if self._sink.number is not None:
            details["artifact"] = f"artifact://{self._sink.number}"
            details["truncated"] = True
        return details

    def begin(self, index: int) -> None:
        """Mark a cell as running, and write its heading if the call has several cells."""
        self.cells[index] = replace(self.cells[index], status="running")
        if len(self.cells) > 1:
            title = self.cells[index].title
            self._sink.write(f"[{index + 1}/{len(self.cells)}]{title and ' ' + title}\n")

    def end(self, index: int, status: str, duration_ms: int) -> None:
        """Set the status and duration of a cell that has ended."""
        self.cells[index] = replace(self.cells[index], status=status, duration_ms=duration_ms)

    def add(self, index: int, frame: dict[str, Any]) -> None:
        """Add a frame of the kernel."""
        kind = frame["type"]
        if kind == "stream":
            self.write(index, frame["text"])
        elif kind == "error":
            self.write(index, frame["traceback"])
        elif kind == "input":
            if not self.input_requested:
                self.write(index, NO_INPUT)
            self.input_requested = True
        elif kind == "display":
            self._display(index, frame["data"])

    def write(self, index: int, text: str) -> None:
        """Add text to the output of a cell."""
        self._sink.write(text)
        cell = self.cells[index]
        self.cells[index] = replace(cell, output=(cell.output + text)[-MAX_DETAILS:])

    def _display(self, index: int, data: dict[str, Any]) -> None:
        cell = self.cells[index]
        for kind in ("image/png", "image/jpeg"):
            if isinstance(data.get(kind), str):
                self.images.append(Image(data=data[kind].replace("\n", ""), mime_type=kind))
                self.cells[index] = replace(cell, images=cell.images + 1)
                break
        if "application/json" in data:
            self._json.append(data["application/json"])
        event = data.get(STATUS_TYPE)
        if isinstance(event, dict) and len(cell.status_events) < MAX_STATUS_EVENTS:
            events = (*cell.status_events, event)
            self.cells[index] = replace(self.cells[index], status_events=events)
        if text := display_text(data):
            self.write(index, text if text.endswith("\n") else text + "\n")


def _cell_details(cell: Cell) -> dict[str, Any]:
    details: dict[str, Any] = {
        "index": cell.index,
        "code": cell.code,
        "title": cell.title,
        "status": cell.status,
        "output": cell.output,
        "durationMs": cell.duration_ms,
    }
    if cell.status_events:
        details["statusEvents"] = list(cell.status_events)
    if cell.images:
        details["images"] = cell.images
    return details


def display_text(data: dict[str, Any]) -> str:
    """The text of a display: Markdown, else plain text, else HTML as text."""
    plain, html = str(data.get("text/plain", "")), data.get("text/html")
    if "text/markdown" in data:
        return str(data["text/markdown"])
    if plain and not (html and re.fullmatch(_EMPTY_REPR, plain)):
        return plain
    return "" if html is None else html_text(str(html))


def html_text(html: str) -> str:
    """HTML as basic Markdown."""
    parser = _TextParser()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(parser.parts)).strip()


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Append the Markdown of a start tag."""
        self._hidden += tag in ("style", "script")
        marks = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "li": "\n- "}
        self.parts.append(marks.get(tag, "\n" if tag in _BLOCKS else ""))

    def handle_endtag(self, tag: str) -> None:
        """Append the Markdown of an end tag."""
        self._hidden -= tag in ("style", "script")
        marks = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "td": " ", "th": " "}
        self.parts.append(marks.get(tag, "\n" if tag in _BLOCKS and tag != "li" else ""))

    def handle_data(self, data: str) -> None:
        """Append text, except that of ``style`` and ``script``."""
        if not self._hidden and data.strip():
            self.parts.append(data.strip("\n"))
