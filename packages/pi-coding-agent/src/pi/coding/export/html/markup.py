"""Escaped HTML as a type, allowed links and images, highlighted code, and Markdown.

A separate type ensures that unescaped text cannot be put into a page by mistake. Markdown is
rendered from the events of its parser, so that no raw HTML is passed through.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import pyromark

from pi.base.terminal_text import sanitise

if TYPE_CHECKING:
    from pygments.lexer import Lexer


Value: TypeAlias = str | int | bool
"""Value of an attribute."""

EMPTY = ("br", "hr", "img", "input")
"""Elements without content and end tag."""


class Html(str):
    """Safe markup. Other modules construct it from constants only."""

    __slots__ = ()


def esc(text: str) -> Html:
    """Escape ``text`` and remove terminal control sequences."""
    return Html(escape(sanitise(text)))


def tag(name: str, *children: Html, **attributes: Value) -> Html:
    """Return an element with attributes (see ``opening``) and children."""
    begin = opening(name, **attributes)
    return begin if name in EMPTY else Html(f"{begin}{''.join(children)}</{name}>")


def opening(name: str, **attributes: Value) -> Html:
    """Return a start tag.

    Attributes are escaped; ``class_`` and ``data_n`` become ``class`` and ``data-n``. True writes
    an attribute without a value; False and an empty text omit it.
    """
    parts = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(attribute)
        elif value is not False and value != "":
            parts.append(f'{attribute}="{esc(str(value))}"')
    return Html(f"<{' '.join(parts)}>")


def join(parts: Iterable[Html]) -> Html:
    """Concatenate markup."""
    return Html("".join(parts))


SCHEMES = ("http", "https", "mailto")
PICTURES = {
    "image/png": b"\x89PNG\r\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Image types without active content that every browser shows, with their signatures."""

# Characters that browsers ignore in a URL, which could hide a scheme: controls, spaces, and
# characters without width.
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_DATA_URL = re.compile(r"data:(?P<kind>[a-z]+/[a-z]+);base64,(?P<data>.*)", re.DOTALL)


def link(address: str) -> str:
    """Return the URL without invisible characters if its scheme is allowed, else an empty text."""
    seen = _INVISIBLE.sub("", address)
    scheme = _SCHEME.match(seen)
    return seen if scheme and scheme[1].lower() in SCHEMES else ""


def picture(data: str, mime_type: str) -> str:
    """Return the image as a ``data:`` URL; empty if its bytes do not match its type."""
    kind = mime_type.strip().lower()
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if kind not in PICTURES or not content.startswith(PICTURES[kind]):
        return ""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def picture_url(address: str) -> str:
    """Return a validated ``data:`` URL of an image; empty if it is not allowed."""
    parts = _DATA_URL.fullmatch(address.strip())
    return picture(parts["data"], parts["kind"]) if parts else ""


MAX_BLOCK = 50_000
"""Longer blocks are not highlighted."""
BUDGET = 600_000
"""Characters of one page that are highlighted, which takes 1 to 2 s. The rest stays plain."""

_COLOURS = {
    "k": "k", "ow": "k", "nt": "k",
    "s": "s",
    "c": "c", "go": "c",
    "m": "m", "il": "m",
    "nf": "f", "fm": "f", "nc": "f", "nd": "f", "na": "f", "nb": "f", "bp": "f",
}  # fmt: skip
"""CSS classes by pygments' short names of token types, of one or two letters."""


class Painter:
    """Highlights code within the budget of a page."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._remaining = budget

    def block(self, code: str, language: str = "", *, file: str = "", before: str = "") -> Html:
        """Render code, with the language given or guessed from ``file``; ``before`` stays plain."""
        painted = self._paint(sanitise(code.rstrip("\n")), language, file)
        return tag("pre", tag("code", esc(before), painted), class_="code")

    def _paint(self, code: str, language: str, file: str) -> Html:
        if not (language or file) or len(code) > min(MAX_BLOCK, self._remaining):
            return esc(code)
        lexer = _of_file(file.replace("\\", "/").rsplit("/", 1)[-1]) if file else _of_name(language)
        if lexer is None:
            return esc(code)
        self._remaining -= len(code)
        tokens = list(lexer.get_tokens(code))
        if "".join(text for _, text in tokens) != code:
            return esc(code)  # some lexers drop text that they do not recognise
        return join(_token(kind, text) for kind, text in _merge_tokens(tokens))


def diff(changes: str) -> Html:
    """Render changed lines with a class for the sign of each."""
    return tag("pre", join(map(_diff_line, changes.splitlines())), class_="diff")


def _diff_line(line: str) -> Html:
    kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
    return tag("span", esc(line + "\n"), class_=kind)


def _merge_tokens(tokens: list[tuple[Any, str]]) -> Iterator[tuple[str, str]]:
    """Merge neighbouring tokens of the same colour."""
    colour, run = "", ""
    for kind, text in tokens:
        new = _colour(kind)
        if new != colour:
            yield colour, run
            colour, run = new, ""
        run += text
    yield colour, run


def _token(colour: str, text: str) -> Html:
    return tag("span", esc(text), class_=colour) if colour else esc(text)


@lru_cache(maxsize=512)
def _colour(kind: Any) -> str:
    # Lazy: an export without code does not need pygments.
    from pygments.token import STANDARD_TYPES

    short: str = STANDARD_TYPES.get(kind, "")
    return _COLOURS.get(short) or _COLOURS.get(short[:1], "")


@lru_cache(maxsize=256)
def _of_name(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name

    return _lexer(get_lexer_by_name, language.lower())


@lru_cache(maxsize=256)
def _of_file(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_for_filename

    return _lexer(get_lexer_for_filename, name)


def _lexer(find: Callable[..., Lexer], name: str) -> Lexer | None:
    from pygments.util import ClassNotFound

    try:
        return find(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


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
                    yield self._painter.block(_collect_text(events, "CodeBlock"), language)
                case {"Start": {"Image": {"dest_url": address}}}:
                    yield _image(address, _collect_text(events, "Image"))
                case {"Start": kind}:
                    yield self._start(kind)
                case {"End": _}:
                    yield Html(f"</{self._open.pop()}>")

    def _start(self, kind: Any) -> Html:
        match kind:
            case {"Heading": {"level": level}}:
                start_tag = self._element(_HEADINGS[level])
            case {"List": None}:
                start_tag = self._element("ul")
            case {"List": first}:
                start_tag = self._element("ol", start=first)
            case {"Link": {"dest_url": address}}:
                start_tag = self._link(address)
            case {"Table": alignments}:
                self._table = _Table(alignments)
                start_tag = self._element("table")
            case "TableCell":
                name, side = self._table.next_cell()
                start_tag = self._element(name, class_=side)
            case str():
                self._table.next_row(kind)
                start_tag = self._element(_TAGS[kind])
            case _:
                start_tag = self._element("blockquote")
        return start_tag

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


def _collect_text(events: Iterator[Any], kind: str) -> str:
    """Return the text up to the end of the current element, without markup."""
    texts, depth = [], 1
    for event in events:
        match event:
            case {"Start": {"Image": _}}:
                depth += 1
            case {"End": end} if end == kind:
                depth -= 1
                if depth == 0:
                    break
            case {"Text": text} | {"Code": text} | {"Html": text} | {"InlineHtml": text}:
                texts.append(text)
    return "".join(texts)


def _image(address: str, alt: str) -> Html:
    """Render an embedded image; a remote image becomes a link."""
    if source := picture_url(address):
        return tag("img", src=source, alt=alt)
    label = esc(f"[image: {alt or address}]")
    if target := link(address):
        return tag("a", label, href=target, rel="noopener noreferrer", target="_blank")
    return tag("span", label, class_="dead-link")
