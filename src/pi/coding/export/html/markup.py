"""HTML as a type of its own: what is not escaped cannot be put into a page by mistake."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.base.terminal_text import sanitise

if TYPE_CHECKING:
    from pygments.lexer import Lexer


Value: TypeAlias = str | int | bool
"""What an attribute can have."""

EMPTY = ("br", "hr", "img", "input")
"""Elements that hold nothing and are not closed."""


class Html(str):
    """Markup that is safe as it stands. Other modules make it only of constants."""

    __slots__ = ()


def esc(text: str) -> Html:
    """``text`` to be read: without control sequences, and with nothing that HTML would act on."""
    return Html(escape(sanitise(text)))


def tag(name: str, *children: Html, **attributes: Value) -> Html:
    """An element with its attributes, as ``opening`` takes them, and what is in it."""
    begin = opening(name, **attributes)
    return begin if name in EMPTY else Html(f"{begin}{''.join(children)}</{name}>")


def opening(name: str, **attributes: Value) -> Html:
    """The beginning of an element, for what is written piece by piece.

    Attributes are escaped; ``class_`` and ``data_n`` become ``class`` and ``data-n``. True stands
    for an attribute without a value; False and the empty text leave it out.
    """
    words = [name]
    for key, value in attributes.items():
        shown = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(shown)
        elif value is not False and value != "":
            words.append(f'{shown}="{esc(str(value))}"')
    return Html(f"<{' '.join(words)}>")


def join(parts: Iterable[Html]) -> Html:
    """Pieces of markup, one after the other."""
    return Html("".join(parts))


# Which addresses a page may point to, and which pictures it may hold.


SCHEMES = ("http", "https", "mailto")
PICTURES = {
    "image/png": b"\x89PNG\r\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Kinds of pictures that every browser shows and none runs, with how their bytes begin."""

# What browsers drop or ignore in an address, so that it cannot hide a scheme: controls, spaces,
# and characters without width.
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_DATA_URL = re.compile(r"data:(?P<kind>[a-z]+/[a-z]+);base64,(?P<data>.*)", re.DOTALL)


def link(address: str) -> str:
    """The address without what cannot be seen, if a page may point to it; else nothing."""
    seen = _INVISIBLE.sub("", address)
    scheme = _SCHEME.match(seen)
    return seen if scheme and scheme[1].lower() in SCHEMES else ""


def picture(data: str, mime_type: str) -> str:
    """The picture as a URL that holds all of it; nothing if it is not what it says it is."""
    kind = mime_type.strip().lower()
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if kind not in PICTURES or not content.startswith(PICTURES[kind]):
        return ""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def picture_url(address: str) -> str:
    """A picture that is written as a ``data:`` URL, if a page may hold it; else nothing."""
    parts = _DATA_URL.fullmatch(address.strip())
    return picture(parts["data"], parts["kind"]) if parts else ""


# Code in colours, and changes to it.


MAX_BLOCK = 50_000
"""Characters of one block beyond which it stays plain."""
BUDGET = 600_000
"""Characters of one page that are coloured: a second or two of work. The rest stays plain."""

_COLOURS = {
    "k": "k", "ow": "k", "nt": "k",
    "s": "s",
    "c": "c", "go": "c",
    "m": "m", "il": "m",
    "nf": "f", "fm": "f", "nc": "f", "nd": "f", "na": "f", "nb": "f", "bp": "f",
}  # fmt: skip
"""Kinds of tokens as pygments abbreviates them, by one or two letters, and their class here."""


class Painter:
    """Colours code until the page has had enough of it."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget

    def block(self, code: str, language: str = "", *, file: str = "", before: str = "") -> Html:
        """Code in a language, or in that of a file's name; ``before`` stands before it, plain."""
        painted = self._paint(sanitise(code.rstrip("\n")), language, file)
        return tag("pre", tag("code", esc(before), painted), class_="code")

    def _paint(self, code: str, language: str, file: str) -> Html:
        if not (language or file) or len(code) > min(MAX_BLOCK, self._left):
            return esc(code)
        lexer = _of_file(file.replace("\\", "/").rsplit("/", 1)[-1]) if file else _of_name(language)
        if lexer is None:
            return esc(code)
        self._left -= len(code)
        tokens = list(lexer.get_tokens(code))
        if "".join(text for _, text in tokens) != code:
            return esc(code)  # there are lexers that lose what they do not understand
        return join(_token(kind, text) for kind, text in _merged(tokens))


def diff(changes: str) -> Html:
    """Changed lines, told apart by the sign that each begins with."""
    return tag("pre", join(map(_diff_line, changes.splitlines())), class_="diff")


def _diff_line(line: str) -> Html:
    kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
    return tag("span", esc(line + "\n"), class_=kind)


def _merged(tokens: list[tuple[Any, str]]) -> Iterator[tuple[str, str]]:
    """Neighbours of the same colour as one."""
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
    # Not at the top: most exports of a conversation without code never need it.
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
