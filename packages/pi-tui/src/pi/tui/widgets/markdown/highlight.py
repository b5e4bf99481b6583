"""Syntax highlighting with pygments, which is loaded on first use.

Code is highlighted in cached pieces that end at top level: a growing block costs only its last
piece, and the colours do not depend on how the code arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from pi.tui.style import Paint
from pi.tui.widgets.markdown.nodes import CodeTheme

if TYPE_CHECKING:
    from pygments.lexer import Lexer

PIECE_LINES = 24
"""Lines after which a piece may end at an empty line."""
_MAX_PIECE_LINES = 200
"""Lines after which a piece ends anywhere."""

_PAIRED = ('"""', "'''", "`")
_BRACKETS = (("/*", "*/"), ("<!--", "-->"))

_GROUPS = (
    ("Token.Comment", "comment"),
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Operator", "operator"),
    ("Token.Punctuation", "punctuation"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Decorator", "function"),
    ("Token.Name.Class", "type"),
    ("Token.Name.Exception", "type"),
    ("Token.Name.Builtin", "type"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "variable"),
    ("Token.Name.Variable", "variable"),
    ("Token.Generic.Inserted", "inserted"),
    ("Token.Generic.Deleted", "deleted"),
    ("Token.Generic.Subheading", "comment"),
)


_ALSO_CALLED = {
    "cjs": "js",
    "cmd": "bat",
    "conf": "ini",
    "cxx": "cpp",
    "dotenv": "bash",
    "env": "bash",
    "gql": "graphql",
    "h": "c",
    "hpp": "cpp",
    "jsonc": "json5",
    "jsonl": "json",
    "kt": "kotlin",
    "mdx": "markdown",
    "mjs": "js",
    "mts": "ts",
    "patch": "diff",
    "svelte": "html",
    "svg": "xml",
    "terminal": "console",
}
"""Common names that pygments does not know."""


def highlight(code: str, language: str, theme: CodeTheme) -> list[str]:
    """Return the highlighted lines; plain if the language is missing or unknown."""
    if not language:
        return _lines(code)
    return [line for piece in pieces(code) for line in _highlight_piece(piece, language, theme)]


def clear_highlight_cache() -> None:
    """Clear the cache, because paints may have changed."""
    _highlight_piece.cache_clear()


def pieces(code: str) -> Iterator[str]:
    """Yield the pieces that are highlighted separately; joined they are the code."""
    start = position = lines = 0
    previous = ""
    for line in code.splitlines(keepends=True):
        if lines >= PIECE_LINES and can_end(code[start:position], previous, line, lines):
            yield code[start:position]
            start, lines = position, 0
        position += len(line)
        lines += 1
        previous = line
    if position > start:
        yield code[start:position]


def can_end(piece: str, last_line: str, next_line: str, lines: int) -> bool:
    """Return whether a piece can end between two lines: outside functions, strings, comments."""
    if lines >= _MAX_PIECE_LINES:
        return True
    if last_line.strip() or not next_line.strip() or next_line[0] in " \t})]":
        return False
    return all(piece.count(quote) % 2 == 0 for quote in _PAIRED) and all(
        piece.count(opening) <= piece.count(closing) for opening, closing in _BRACKETS
    )


@lru_cache(maxsize=256)
def _highlight_piece(code: str, language: str, theme: CodeTheme) -> tuple[str, ...]:
    lexer = _lexer(language)
    if lexer is None:
        return tuple(_lines(code))
    try:
        tokens = [(str(kind), text) for kind, text in lexer.get_tokens(code)]
    except Exception:  # a failing lexer costs only the colours
        return tuple(_lines(code))
    if "".join(text for _, text in tokens).rstrip("\n") != code.rstrip("\n"):
        return tuple(_lines(code))  # some lexers modify the code
    painted = "".join(_painted(kind, text, theme) for kind, text in tokens)
    count = len(_lines(code))
    return tuple((painted.split("\n") + [""] * count)[:count])


def _painted(kind: str, text: str, theme: CodeTheme) -> str:
    paint = _paint(kind, theme)
    return text if paint is None else "\n".join(paint(line) for line in text.split("\n"))


@lru_cache(maxsize=1024)
def _paint(kind: str, theme: CodeTheme) -> Paint | None:
    for prefix, group in _GROUPS:
        if kind.startswith(prefix):
            paint: Paint = getattr(theme, group)
            return paint
    return None


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    # lazy: pygments takes tens of milliseconds to load
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    name = language.lower()
    try:
        return get_lexer_by_name(_ALSO_CALLED.get(name, name), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _lines(code: str) -> list[str]:
    return code.removesuffix("\n").split("\n") if code else []
