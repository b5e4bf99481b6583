"""Renders Markdown as HTML from the parser's events, so that no raw HTML is passed through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyromark

from pi.base.terminal_text import sanitise
from pi.coding.export.html.markup import Html, Painter, esc, join, link, opening, picture_url, tag

_PARSER = pyromark.Markdown(
    options=pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)

_TAGS = {
    "Paragraph": "p",
    "Item": "li",
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "del",
    "TableHead": "tr",
    "TableRow": "tr",
    "HtmlBlock": "pre",
}
_HEADINGS = {"H1": "h3", "H2": "h4", "H3": "h5", "H4": "h6", "H5": "h6", "H6": "h6"}
"""Levels below the headings of the page itself."""
_BREAKS = {"SoftBreak": Html("<br>\n"), "HardBreak": Html("<br>\n"), "Rule": Html("<hr>\n")}
"""Line ends are kept, as on the screen."""


def rich_text(source: str, painter: Painter) -> Html:
    """Render Markdown: HTML in it is shown as text, URLs must pass the allow-list."""
    return join(_Writer(painter).write(iter(_PARSER.events(sanitise(source)))))


class _Writer:
    """Converts parser events to markup. ``_open`` is the stack of open elements."""

    def __init__(self, painter: Painter) -> None:
        self._painter = painter
        self._open: list[str] = []
        self._table = _Table(())

    def write(self, events: Iterator[Any]) -> Iterator[Html]:
        """Yield the markup of events."""
        for event in events:
            match event:
                case str():
                    yield _BREAKS[event]
                case {"Text": text} | {"Html": text} | {"InlineHtml": text}:
                    yield esc(text)
                case {"Code": text}:
                    yield tag("code", esc(text))
                case {"TaskListMarker": done}:
                    yield Html("☑ " if done else "☐ ")
                case {"Start": {"CodeBlock": kind}}:
                    info = kind["Fenced"] if isinstance(kind, dict) else ""
                    language = (info.replace(",", " ").split() or [""])[0]
                    yield self._painter.block(_words(events, "CodeBlock"), language)
                case {"Start": {"Image": {"dest_url": address}}}:
                    yield _image(address, _words(events, "Image"))
                case {"Start": kind}:
                    yield self._start(kind)
                case {"End": _}:
                    yield Html(f"</{self._open.pop()}>")

    def _start(self, kind: Any) -> Html:
        match kind:
            case {"Heading": {"level": level}}:
                begun = self._element(_HEADINGS[level])
            case {"List": None}:
                begun = self._element("ul")
            case {"List": first}:
                begun = self._element("ol", start=first)
            case {"Link": {"dest_url": address}}:
                begun = self._link(address)
            case {"Table": alignments}:
                self._table = _Table(alignments)
                begun = self._element("table")
            case "TableCell":
                name, side = self._table.next_cell()
                begun = self._element(name, class_=side)
            case str():
                self._table.next_row(kind)
                begun = self._element(_TAGS[kind])
            case _:
                begun = self._element("blockquote")
        return begun

    def _link(self, address: str) -> Html:
        if target := link(address):
            return self._element("a", href=target, rel="noopener noreferrer", target="_blank")
        return self._element("span", class_="dead-link", title=address)

    def _element(self, name: str, **attributes: str | int) -> Html:
        self._open.append(name)
        return opening(name, **attributes)


class _Table:
    """Tracks the current cell of a table."""

    def __init__(self, alignments: tuple[str, ...]) -> None:
        self._alignments = alignments
        self._cell = "td"
        self._column = 0

    def next_row(self, kind: str) -> None:
        """Begin a row if ``kind`` is a table head or row."""
        if kind in ("TableHead", "TableRow"):
            self._cell = "th" if kind == "TableHead" else "td"
            self._column = 0

    def next_cell(self) -> tuple[str, str]:
        """Return the element name of the next cell, and its alignment, if any."""
        side = self._alignments[self._column].lower()
        self._column += 1
        return self._cell, "" if side == "none" else side


def _words(events: Iterator[Any], kind: str) -> str:
    """Return the text up to the end of the current element, without markup."""
    words, depth = [], 1
    for event in events:
        match event:
            case {"Start": {"Image": _}}:
                depth += 1
            case {"End": end} if end == kind:
                depth -= 1
                if depth == 0:
                    break
            case {"Text": text} | {"Code": text} | {"Html": text} | {"InlineHtml": text}:
                words.append(text)
    return "".join(words)


def _image(address: str, alt: str) -> Html:
    """Render an embedded image; a remote image becomes a link."""
    if source := picture_url(address):
        return tag("img", src=source, alt=alt)
    label = esc(f"[image: {alt or address}]")
    if target := link(address):
        return tag("a", label, href=target, rel="noopener noreferrer", target="_blank")
    return tag("span", label, class_="dead-link")
