"""Draws LaTeX formulas: as a line of characters, or in two dimensions. Pure.

Formulas that are not understood are shown as source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from pi.tui.widgets.markdown.formula_layout import LOWERED, RAISED, layout, small
from pi.tui.widgets.markdown.latex import parse_latex
from pi.tui.widgets.markdown.latex_nodes import (
    Accent,
    Boxed,
    Brace,
    Fenced,
    Fraction,
    Grid,
    Node,
    NodeRow,
    NotUnderstood,
    Root,
    Scripts,
    Symbol,
)
from pi.tui.widgets.markdown.nodes import Formula

_LOOKS_LIKE_ONE = re.compile(r"\\[A-Za-z]|\^")
"""A text between dollars without any of these may be prices or shell variables."""
_LOOKS_LIKE_DISPLAY = re.compile(r"\\[A-Za-z]|\^|=")


@lru_cache(maxsize=256)
def formula(source: str) -> str | None:
    """Returns a formula as characters; None if it is not a formula or does not fit a line."""
    if not _LOOKS_LIKE_ONE.search(source):
        return None
    try:
        node = parse_latex(source)
        return None if isinstance(node, Grid) else in_line(node)
    except NotUnderstood:
        return None


@lru_cache(maxsize=256)
def display(source: str) -> Formula | None:
    """Returns a formula for lines of its own; None if it is not one."""
    if not _LOOKS_LIKE_DISPLAY.search(source):
        return None
    try:
        node = parse_latex(source)
    except NotUnderstood:
        return None
    return Formula(text=in_line(node), rows=layout(node))


def in_line(node: Node) -> str:
    """Returns a node as one line."""
    return re.sub(r"  +", " ", _line(node)).strip()


def _line(node: Node) -> str:
    return _LINES[type(node)](node)


def _symbol(node: Symbol) -> str:
    return " " if node.kind == "blank" else node.text


def _fraction(node: Fraction) -> str:
    if not node.has_line:
        return f"{in_line(node.top)} choose {in_line(node.bottom)}"
    return f"{_bracketed(in_line(node.top))}/{_bracketed(in_line(node.bottom))}"


def _root(node: Root) -> str:
    degree = "" if node.degree is None else _script(node.degree, RAISED, "^")
    return f"{degree}√{_bracketed(in_line(node.inside))}"


def _scripts(node: Scripts) -> str:
    lower = "" if node.lower is None else _script(node.lower, LOWERED, "_")
    upper = "" if node.upper is None else _script(node.upper, RAISED, "^")
    return f"{_line(node.base)}{lower}{upper}"


def _accent(node: Accent) -> str:
    return "".join(letter + node.mark for letter in _line(node.inside))


def _fenced(node: Fenced) -> str:
    return f"{node.left}{_line(node.inside)}{node.right}"


def _brace(node: Brace) -> str:
    return _bracketed(in_line(node.inside))


def _boxed(node: Boxed) -> str:
    return _line(node.inside)


def _grid(node: Grid) -> str:
    joint = ", " if node.gaps.startswith(" ") else " "
    return "; ".join(joint.join(map(in_line, cells)) for cells in node.rows)


def _row(node: NodeRow) -> str:
    parts: list[str] = []
    for item, following in zip_longest(node.items, node.items[1:]):
        text = _line(item)
        if isinstance(item, Symbol) and item.kind == "word" and _begins_word(following):
            text += " "
        parts.append(text)
    return "".join(parts)


def _begins_word(node: Node | None) -> bool:
    """Whether a name of a function needs a space before it."""
    if node is None:
        return False
    return bool(re.match(r"[^\W_]|[√∑∏∫]", _line(node)))


def _script(node: Node, letters: dict[str, str], sign: str) -> str:
    """Returns a superscript or subscript if all characters exist, otherwise with a sign."""
    text = in_line(node)
    return small(text, letters) or sign + _bracketed(text)


def _bracketed(text: str) -> str:
    is_one = len(text) == 1 or re.fullmatch(r"[\d.]+|\([^()]*\)|\w[¹²³⁰-ₜ]+", text)
    return text if is_one else f"({text})"


_LINES: dict[type, Callable[[Any], str]] = {
    Symbol: _symbol,
    NodeRow: _row,
    Fraction: _fraction,
    Root: _root,
    Scripts: _scripts,
    Accent: _accent,
    Fenced: _fenced,
    Brace: _brace,
    Boxed: _boxed,
    Grid: _grid,
}
