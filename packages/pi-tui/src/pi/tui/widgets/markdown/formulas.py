"""LaTeX formulas: parsed to nodes, and drawn as a line of characters or in two dimensions. Pure.

Only constructions that terminals can show are supported. Other formulas are shown as source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from pi.tui.widgets.markdown.formula_layout import LOWERED, RAISED, layout, small
from pi.tui.widgets.markdown.latex_nodes import (
    ACCENTS,
    ALIGNED,
    ALPHABETS,
    EMPTY,
    GRIDS,
    IGNORED,
    LETTERS,
    NEGATED,
    SPACES,
    SYMBOLS,
    TEXTS,
    TYPEFACES,
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
    """Return a formula as characters; None if it is not a formula or does not fit a line."""
    if not _LOOKS_LIKE_ONE.search(source):
        return None
    try:
        node = parse_latex(source)
        return None if isinstance(node, Grid) else in_line(node)
    except NotUnderstood:
        return None


@lru_cache(maxsize=256)
def display(source: str) -> Formula | None:
    """Return a formula for lines of its own; None if it is not one."""
    if not _LOOKS_LIKE_DISPLAY.search(source):
        return None
    try:
        node = parse_latex(source)
    except NotUnderstood:
        return None
    return Formula(text=in_line(node), rows=layout(node))


def in_line(node: Node) -> str:
    """Return a node as one line."""
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
    """Return a superscript or subscript if all characters exist, otherwise with a sign."""
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


MAX_SOURCE = 900
"""Longer formulas stay source. They must be shorter than the text that a stream holds back."""
_MAX_NESTING = 30
"""Nested groups that are still readable."""
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&]|\s+|.", re.DOTALL)


def parse_latex(source: str) -> Node:
    """Return the formula as a node. Raises ``NotUnderstood``.

    Several lines, divided by two backslashes, become a grid with one column.
    """
    if len(source) > MAX_SOURCE:
        raise NotUnderstood
    parser = _Parser(source)
    rows = parser.cells(())
    if any(len(cells) > 1 for cells in rows):
        return Grid(rows, *ALIGNED)
    return rows[0][0] if len(rows) == 1 else Grid(rows, "c", ".")


class _Parser:
    """Reads a formula from left to right."""

    def __init__(self, source: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(source)[::-1]
        """The remaining tokens, the next one last."""
        self._depth = 0

    def cells(self, end: Sequence[str]) -> tuple[tuple[Node, ...], ...]:
        """Read the rows of a grid up to one of the tokens ``end``, or to the end."""
        rows: list[tuple[Node, ...]] = []
        cells: list[Node] = []
        while True:
            cells.append(self._row(("&", "\\\\", *end)))
            if not self._tokens or self._tokens[-1] in end:
                break
            if self._tokens.pop() == "\\\\":
                self._skip_length()
                rows.append(tuple(cells))
                cells = []
        if len(cells) > 1 or cells[0] != EMPTY or not rows:
            rows.append(tuple(cells))
        return tuple(rows)

    def _row(self, end: Sequence[str]) -> Node:
        """Read nodes up to one of the tokens ``end``."""
        items: list[Node] = []
        while self._tokens and self._tokens[-1] not in end:
            token = self._tokens[-1]
            if token in ("}", "&", "\\\\", "\\right", "\\end"):
                raise NotUnderstood
            if token in "^_":
                self._add_script(items)
            else:
                items.append(self._next())
        solid = [item for item in items if item != EMPTY]
        while solid and _is_blank(solid[0]):
            del solid[0]
        while solid and _is_blank(solid[-1]):
            del solid[-1]
        return solid[0] if len(solid) == 1 else NodeRow(tuple(solid))

    def _add_script(self, items: list[Node]) -> None:
        sign = self._next_token()
        while items and _is_blank(items[-1]):
            items.pop()
        base = items.pop() if items else EMPTY
        script = self.argument()
        if not isinstance(base, Scripts):
            base = Scripts(base, has_limits=_has_limits(base))
        if (base.upper if sign == "^" else base.lower) is not None:
            raise NotUnderstood  # a double script is an error in LaTeX, too
        items.append(base._replace(upper=script) if sign == "^" else base._replace(lower=script))

    def _next(self) -> Node:
        """Read one letter, command or group."""
        if self._depth == _MAX_NESTING:
            raise NotUnderstood
        self._depth += 1
        node = self._node(self._next_token())
        self._depth -= 1
        return node

    def _node(self, token: str) -> Node:
        if token == "{":
            inside = self._row(("}",))
            self._expect("}")
            return inside
        if token.isspace() or token == "~":
            return Symbol(" ", "blank")
        if token in "^_&}":
            raise NotUnderstood
        if token.startswith("\\"):
            return self._command(token[1:])
        if token in "=<>:":
            return Symbol(token, "relation")
        return Symbol(token, "operator" if token in "+-*/" else "letter")

    def _command(self, name: str) -> Node:  # noqa: PLR0911 -- one return for each kind
        if name in SYMBOLS:
            return SYMBOLS[name]
        if name in IGNORED:
            return EMPTY
        if name in SPACES:
            return Symbol(SPACES[name], "space")
        if name in ACCENTS:
            return Accent(self.argument(), ACCENTS[name])
        if name in TEXTS:
            return Symbol(self._raw_group(), "text")
        if name in TYPEFACES:
            return self.argument()
        if name in ALPHABETS:
            letters = self._raw_group()
            return Symbol("".join(ALPHABETS[name].get(letter, letter) for letter in letters))
        if name in _COMMANDS:
            return _COMMANDS[name](self)
        if len(name) == 1 and not name.isalpha() and name != "\\":
            return Symbol("‖" if name == "|" else name)
        raise NotUnderstood

    # Commands with arguments ----------------------------------------------------------------------

    def root(self) -> Node:
        degree = None
        if self._tokens and self._tokens[-1] == "[":
            self._tokens.pop()
            degree = self._row(("]",))
            self._expect("]")
        return Root(self.argument(), degree)

    def fenced(self) -> Node:
        left = self._delimiter()
        inside = self._row(("\\right",))
        self._expect("\\right")
        return Fenced(left, inside, self._delimiter())

    def operator_name(self) -> Node:
        return Symbol(self._raw_group(), "word")

    def operator_with_limits(self) -> Node:
        return Symbol(self._raw_group(), "word", has_limits=True)

    def tag(self) -> Node:
        return Symbol(f"    ({self._raw_group()})", "text")

    def negated(self) -> Node:
        base = self.argument()
        if isinstance(base, Symbol) and base.text in NEGATED:
            return base._replace(text=NEGATED[base.text])
        return Accent(base, "\u0338")

    def modulus(self) -> Node:
        inside = NodeRow((SYMBOLS["mod"], Symbol(" ", "blank"), self.argument()))
        return NodeRow((Symbol("  ", "space"), Fenced("(", inside, ")")))

    def substack(self) -> Node:
        self._expect_argument("{")
        rows = self.cells(("}",))
        self._expect("}")
        return Grid(rows, "c", ".")

    def environment(self) -> Node:
        name = self._raw_group().removesuffix("*")
        if name not in GRIDS:
            raise NotUnderstood
        left, right, alignments, gaps = GRIDS[name]
        if name == "array":
            alignments = "".join(re.findall("[lcr]", self._raw_group())) or "c"
        elif name == "alignat":
            self._raw_group()
        grid = Grid(self.cells(("\\end",)), alignments, gaps)
        self._expect("\\end")
        if self._raw_group().removesuffix("*") != name:
            raise NotUnderstood
        return Fenced(left, grid, right) if left or right else grid

    # Tokens ---------------------------------------------------------------------------------------

    def argument(self) -> Node:
        """Read the argument of a command or sign: a group, or the next letter."""
        self._skip_blanks()
        return self._next()

    def _raw_group(self) -> str:
        """Read a group as text, or the next letter."""
        self._skip_blanks()
        if (first := self._next_token()) != "{":
            if first.startswith("\\") or first in "}^_&":
                raise NotUnderstood
            return first
        text, depth = "", 1
        while depth:
            token = self._next_token()
            depth += {"{": 1, "}": -1}.get(token, 0)
            name = token[1:] if token.startswith("\\") else ""
            if name and name not in (*"%$#&_{}", *SPACES):
                raise NotUnderstood
            text += SPACES.get(name, name) if name else token.strip("{}")
        return text

    def _delimiter(self) -> str:
        self._skip_blanks()
        token = self._next_token()
        if token.startswith("\\"):
            name = token[1:]
            if name in ("{", "}"):
                return name
            if name == "|":
                return "‖"
            if name not in LETTERS:
                raise NotUnderstood
            token = LETTERS[name].text
        if token == ".":
            return ""
        if token not in "()[]{}|‖⟨⟩⌊⌋⌈⌉/<>":
            raise NotUnderstood
        return {"<": "⟨", ">": "⟩"}.get(token, token)

    def _skip_length(self) -> None:
        """Skip the length after a line break: ``\\\\[1ex]``."""
        if self._tokens and self._tokens[-1] == "[":
            rest = "".join(reversed(self._tokens[-12:]))
            if match := re.match(r"\[-?[\d.]+ ?[a-z]{2}\]", rest):
                read = 0
                while read < len(match[0]):
                    read += len(self._tokens.pop())

    def _skip_blanks(self) -> None:
        while self._tokens and self._tokens[-1].isspace():
            self._tokens.pop()

    def _expect_argument(self, token: str) -> None:
        self._skip_blanks()
        self._expect(token)

    def _expect(self, token: str) -> None:
        if self._next_token() != token:
            raise NotUnderstood

    def _next_token(self) -> str:
        if not self._tokens:
            raise NotUnderstood
        return self._tokens.pop()


def _read_fraction(parser: _Parser) -> Node:
    return Fraction(parser.argument(), parser.argument())


def _binomial(parser: _Parser) -> Node:
    return Fenced("(", Fraction(parser.argument(), parser.argument(), has_line=False), ")")


def _over(parser: _Parser) -> Node:
    upper, base = parser.argument(), parser.argument()
    return Scripts(base, None, upper, has_limits=True)


def _under(parser: _Parser) -> Node:
    lower, base = parser.argument(), parser.argument()
    return Scripts(base, lower, None, has_limits=True)


def _arrow(parser: _Parser) -> Node:
    return Scripts(Symbol("⟶", "relation"), None, parser.argument(), has_limits=True)


_COMMANDS: dict[str, Callable[[_Parser], Node]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac", "cfrac"), _read_fraction),
    **dict.fromkeys(("binom", "dbinom", "tbinom"), _binomial),
    "sqrt": _Parser.root,
    "left": _Parser.fenced,
    "operatorname": _Parser.operator_name,
    "operatorname*": _Parser.operator_with_limits,
    **dict.fromkeys(("overset", "stackrel"), _over),
    "underset": _under,
    "xrightarrow": _arrow,
    "underbrace": lambda parser: Brace(parser.argument(), is_below=True),
    "overbrace": lambda parser: Brace(parser.argument(), is_below=False),
    "boxed": lambda parser: Boxed(parser.argument()),
    "tag": _Parser.tag,
    "not": _Parser.negated,
    "pmod": _Parser.modulus,
    "substack": _Parser.substack,
    "begin": _Parser.environment,
}


def _is_blank(node: Node) -> bool:
    return isinstance(node, Symbol) and node.kind == "blank"


def _has_limits(node: Node) -> bool:
    return isinstance(node, Brace) or (isinstance(node, Symbol) and node.has_limits)
