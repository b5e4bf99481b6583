"""Code in colours, and changes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pi.base.terminal_text import sanitise
from pi.coding.export.html.markup import Html, esc, join, tag

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_BLOCK = 50_000
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
        if not (language or file) or len(code) > min(LONGEST_BLOCK, self._left):
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
