"""Code in colours, and changes to it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pi.base.terminal_text import sanitise
from pi.coding.export.html.markup import Html, esc, join, tag

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_BLOCK = 50_000
"""Characters of one block beyond which it stays plain."""
BUDGET = 600_000
"""Characters of one page that are coloured: two seconds of work. What comes later stays plain."""


class Painter:
    """Colours code until the page has had enough of it."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget

    def block(self, code: str, language: str = "", *, file: str = "") -> Html:
        """A block of code in a language, or in that of a file's name."""
        return tag(
            "pre", tag("code", self.inline(code.rstrip("\n"), language, file=file)), class_="code"
        )

    def inline(self, code: str, language: str = "", *, file: str = "") -> Html:
        """Code without a block around it."""
        code = sanitise(code)
        if not (language or file) or len(code) > min(LONGEST_BLOCK, self._left):
            return esc(code)
        lexer = _by_file(file.replace("\\", "/").rsplit("/", 1)[-1]) if file else _by_name(language)
        if lexer is None:
            return esc(code)
        self._left -= len(code)
        return _painted(code, lexer)


def diff(changes: str) -> Html:
    """Changed lines, told apart by the sign that each begins with."""
    return tag("pre", join(map(_diff_line, changes.splitlines())), class_="diff")


def _diff_line(line: str) -> Html:
    kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
    return tag("span", esc(line + "\n"), class_=kind)


def _painted(code: str, lexer: Lexer) -> Html:
    # Not at the top: most exports of a conversation without code never need it.
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    painted = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return Html(painted)  # pygments escapes the code; its classes are names of kinds of tokens


@lru_cache(maxsize=256)
def _by_name(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name

    return _lexer(get_lexer_by_name, language.lower())


@lru_cache(maxsize=256)
def _by_file(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_for_filename

    return _lexer(get_lexer_for_filename, name)


def _lexer(find: Any, name: str) -> Lexer | None:
    from pygments.util import ClassNotFound

    try:
        found: Lexer = find(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return found
