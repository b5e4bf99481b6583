"""Lays formulas out in two dimensions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.latex_nodes import (
    Accent,
    Boxed,
    Brace,
    Fenced,
    Fraction,
    Grid,
    Node,
    NodeRow,
    Root,
    Scripts,
    Symbol,
)

RAISED = dict(
    zip(
        "0123456789+-=()abcdefghijklmnoprstuvwxyzT′'",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ′′",
        strict=True,
    )
)
LOWERED = dict(
    zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)


def small(text: str, letters: dict[str, str]) -> str:
    """Return a text in raised or lowered letters; empty if one does not exist."""
    if text and all(letter in letters for letter in text):
        return "".join(map(letters.__getitem__, text))
    return ""


class FormulaBox(NamedTuple):
    """Rows of equal width. The row ``base`` is aligned with the rows of neighbours."""

    rows: tuple[str, ...]
    base: int = 0

    @property
    def width(self) -> int:
        """Its columns."""
        return visible_width(self.rows[0])

    @property
    def below(self) -> int:
        """Rows below the base."""
        return len(self.rows) - self.base - 1


def layout(node: Node) -> tuple[str, ...]:
    """Return the rows of a formula."""
    return tuple(row.rstrip() for row in lay_out(node).rows)


def lay_out(node: Node) -> FormulaBox:
    """Return the box of a node."""
    return _LAYOUTS[type(node)](node)


# Rows ---------------------------------------------------------------------------------------------


def _row(node: NodeRow) -> FormulaBox:
    """Return items side by side, with the spaces of a formula and not those of the source."""
    parts: list[FormulaBox] = []
    before: Node | None = None
    is_sign = False
    """Whether the item before is the sign of a number and not an operator."""
    for item in node.items:
        if isinstance(item, Symbol) and item.kind == "blank":
            continue
        gap = 0 if before is None or is_sign else _gap(before, item)
        is_sign = _kind(item) == "operator" and not _is_operand(before)
        parts += [FormulaBox((" " * gap,))] if gap else []
        parts.append(lay_out(item))
        before = item
    return _side_by_side(parts)


def _is_operand(node: Node | None) -> bool:
    """Return whether an operator can follow a node."""
    if node is None or _kind(node) in ("operator", "relation", "space", "word"):
        return False
    return _text(node) not in _NO_OPERAND


def _gap(before: Node, item: Node) -> int:
    """Return the columns between two neighbours."""
    (left, right), (text, following) = map(_kind, (before, item)), map(_text, (before, item))
    if "space" in (left, right):
        gap = False
    elif "relation" in (left, right):
        gap = True
    elif right == "operator":
        gap = following not in "/*" and _is_operand(before)
    elif left == "operator":
        gap = text not in "/*"
    elif "text" in (left, right):
        is_argument = following in _OPENING or isinstance(item, Fenced)
        gap = not text.endswith(" ") and not following.startswith((" ", ",")) and not is_argument
    elif text in (",", ";") or following in _CLOSING or text in _OPENING:
        gap = text in (",", ";")
    elif left == "word":
        is_argument = isinstance(item, Fenced) and item.left in ("(", "[")
        gap = following not in _OPENING and not is_argument
    else:
        gap = not {"tall", "big", "word"}.isdisjoint((left, right))
    return int(gap)


_OPENING, _CLOSING = tuple("([{⟨⌊⌈"), tuple(")]}⟩⌋⌉,.;!")
_NO_OPERAND = ("", "(", "[", "{", ",", "/", "⟨")


def _kind(node: Node) -> str:
    """Return the kind that decides about spaces; ``tall`` for fractions and the like."""
    match node:
        case Symbol():
            return node.kind
        case Scripts() | Accent():
            base = node.base if isinstance(node, Scripts) else node.inside
            return "tall" if node.__class__ is Scripts and node.has_limits else _kind(base)
        case Fraction() | Root() | Grid() | Brace() | Boxed():
            return "tall"
        case _:
            return "letter"


def _text(node: Node) -> str:
    """Return the text of a symbol; ``x`` for other nodes."""
    return node.text if isinstance(node, Symbol) else "x"


def _side_by_side(parts: Sequence[FormulaBox]) -> FormulaBox:
    """Return boxes side by side on one base."""
    if not parts:
        return FormulaBox(("",))
    base = max(part.base for part in parts)
    below = max(part.below for part in parts)
    rows = [""] * (base + 1 + below)
    for part in parts:
        first = base - part.base
        blank = " " * part.width
        for number in range(len(rows)):
            inside = number - first
            rows[number] += part.rows[inside] if 0 <= inside < len(part.rows) else blank
    return FormulaBox(tuple(rows), base)


def _centred(box: FormulaBox, width: int) -> list[str]:
    return [_aligned(row, width, "c") for row in box.rows]


def _aligned(row: str, width: int, alignment: str) -> str:
    free = width - visible_width(row)
    indent = {"l": 0, "r": free}.get(alignment, free // 2)
    return " " * indent + row + " " * (free - indent)


def _stacked(boxes: Sequence[FormulaBox], base: int) -> FormulaBox:
    """Return boxes below each other, centred; ``base`` is the row of the base."""
    width = max(box.width for box in boxes)
    return FormulaBox(tuple(row for box in boxes for row in _centred(box, width)), base)


# Constructions ------------------------------------------------------------------------------------


def _fraction(node: Fraction) -> FormulaBox:
    top, bottom = lay_out(node.top), lay_out(node.bottom)
    if not node.has_line:
        return _stacked((top, FormulaBox(("",)), bottom), len(top.rows))
    # A fraction inside of a fraction needs a longer line around it.
    more = 2 if _has_line(node.top) or _has_line(node.bottom) else 0
    line = FormulaBox(("─" * (max(top.width, bottom.width) + more),))
    return _stacked((top, line, bottom), len(top.rows))


def _has_line(node: Node) -> bool:
    match node:
        case Fraction():
            return True
        case NodeRow():
            return any(map(_has_line, node.items))
        case _:
            return False


def _root(node: Root) -> FormulaBox:
    inside = lay_out(node.inside)
    degree = "" if node.degree is None else "".join(layout(node.degree))
    sign = f"{small(degree, RAISED) or degree}√"
    if len(inside.rows) == 1 and inside.width == 1:
        return FormulaBox((sign + inside.rows[0],))
    margin = " " * visible_width(sign)
    last = len(inside.rows) - 1
    rows = [f"{margin}┌{'─' * inside.width}"]
    rows += (
        f"{sign if number == last else margin}│{row}" for number, row in enumerate(inside.rows)
    )
    return FormulaBox(tuple(rows), inside.base + 1)


def _scripts(node: Scripts) -> FormulaBox:
    if node.has_limits:
        return _limits(node)
    base = lay_out(node.base)
    lower, upper = _script(node.lower), _script(node.upper)
    short = _short_scripts(base, lower, upper)
    if short is not None:
        return short
    if len(base.rows) > 1:
        lower, upper = _small(lower, LOWERED), _small(upper, RAISED)
    width = max(lower.width, upper.width)
    above = [_aligned(row, width, "l") for row in upper.rows] if upper.width else []
    under = [_aligned(row, width, "l") for row in lower.rows] if lower.width else []
    # Beside a high base the scripts begin in its first row and end in its last one.
    inside = len(base.rows) - 2 if len(base.rows) > 2 else 0
    if not inside:
        middle = [row + " " * width for row in base.rows]
        blank = " " * base.width
        rows = [*(blank + row for row in above), *middle, *(blank + row for row in under)]
        return FormulaBox(tuple(rows), len(above) + base.base)
    extra = max(len(above) - 1, 0)
    column = [*above, *[" " * width] * (len(base.rows) - (1 if above else 0) - (1 if under else 0))]
    column += under
    left = [*[" " * base.width] * extra, *base.rows]
    left += [" " * base.width] * (len(column) - len(left))
    column += [" " * width] * (len(left) - len(column))
    return FormulaBox(tuple(a + b for a, b in zip(left, column, strict=True)), extra + base.base)


def _script(node: Node | None) -> FormulaBox:
    """Return a script, without spaces around its operators."""
    if node is None:
        return FormulaBox(("",))
    box = lay_out(node)
    kinds = {_kind(item) for item in node.items} if isinstance(node, NodeRow) else set()
    if len(box.rows) > 1 or not kinds or not kinds.isdisjoint(("text", "word", "space", "tall")):
        return box
    return FormulaBox((box.rows[0].replace(" ", ""),))


def _small(script: FormulaBox, letters: dict[str, str]) -> FormulaBox:
    """Return a script in small letters, if they exist."""
    small_text = small(script.rows[0], letters) if len(script.rows) == 1 else ""
    return FormulaBox((small_text,)) if small_text else script


def _short_scripts(base: FormulaBox, lower: FormulaBox, upper: FormulaBox) -> FormulaBox | None:
    """Return small letters behind the base, if they exist."""
    if len(base.rows) > 1 or len(lower.rows) > 1 or len(upper.rows) > 1:
        return None
    below = small(lower.rows[0].replace(" ", ""), LOWERED)
    above = small(upper.rows[0].replace(" ", ""), RAISED)
    if (lower.width and not below) or (upper.width and not above):
        return None
    return FormulaBox((base.rows[0] + below + above,))


def _limits(node: Scripts) -> FormulaBox:
    """Return scripts below and above the base."""
    base = lay_out(node.base)
    upper = [] if node.upper is None else [_script(node.upper)]
    lower = [] if node.lower is None else [_script(node.lower)]
    above = sum(len(box.rows) for box in upper)
    return _stacked((*upper, base, *lower), above + base.base)


def _accent(node: Accent) -> FormulaBox:
    inside = lay_out(node.inside)
    if len(inside.rows) == 1:
        is_line = node.mark in ("\u0305", "\u0332")  # which also continues between the letters
        marked = (
            letter + node.mark if is_line or letter != " " else letter for letter in inside.rows[0]
        )
        return FormulaBox(("".join(marked),))
    return FormulaBox(("─" * inside.width, *inside.rows), inside.base + 1)


def _framed(node: Boxed) -> FormulaBox:
    inside = lay_out(node.inside)
    edge = "─" * (inside.width + 2)
    rows = (f"│ {row} │" for row in inside.rows)
    return FormulaBox((f"┌{edge}┐", *rows, f"└{edge}┘"), inside.base + 1)


def _brace(node: Brace) -> FormulaBox:
    inside = lay_out(node.inside)
    width = max(inside.width, 3)
    middle = (width - 2) // 2
    ends, point = ("╰╯", "┬") if node.is_below else ("╭╮", "┴")
    line = f"{ends[0]}{'─' * (middle - (width % 2 == 0))}{point}".ljust(width - 1, "─") + ends[1]
    rows = _centred(inside, width)
    if node.is_below:
        return FormulaBox((*rows, line), inside.base)
    return FormulaBox((line, *rows), inside.base + 1)


_HIGH = {
    # top, middle, bottom, and the point of a brace
    "(": "⎛⎜⎝⎜", ")": "⎞⎟⎠⎟", "[": "⎡⎢⎣⎢", "]": "⎤⎥⎦⎥", "{": "⎧⎪⎩⎨", "}": "⎫⎪⎭⎬",
    "|": "││││", "‖": "‖‖‖‖", "⌊": "⎢⎢⎣⎢", "⌋": "⎥⎥⎦⎥", "⌈": "⎡⎢⎢⎢", "⌉": "⎤⎥⎥⎥",
    "⟨": "╱⟨╲⟨", "⟩": "╲⟩╱⟩", "/": "╱╱╱╱",
}  # fmt: skip


def _fenced(node: Fenced) -> FormulaBox:
    left, inside, right = node.left, lay_out(node.inside), node.right
    height = len(inside.rows)
    if height == 1:
        return FormulaBox((f"{left}{inside.rows[0]}{right}",))
    if height == 2 and {left, right} & {*"{}⟨⟩"}:  # a brace has a point between its ends
        inside = FormulaBox((*inside.rows[:1], " " * inside.width, *inside.rows[1:]), 1)
        height = 3
    edges = (_edge(left, height), _edge(right, height))
    rows = zip(edges[0], inside.rows, edges[1], strict=True)
    return FormulaBox(tuple("".join(row) for row in rows), inside.base)


def _edge(sign: str, height: int) -> list[str]:
    if not sign:
        return [""] * height
    top, middle, bottom, point = tuple(_HIGH[sign])
    rows = [top, *[middle] * (height - 2), bottom]
    if height > 2:
        rows[height // 2] = point
    return rows


def _grid(node: Grid) -> FormulaBox:
    rows = [[lay_out(cell) for cell in cells] for cells in node.rows]
    widths = [max(box.width for box in column if box is not None) for column in zip_longest(*rows)]
    lines: list[str] = []
    is_high = any(len(box.rows) > 1 for cells in rows for box in cells)
    is_relational = node.gaps.startswith(".") and len(widths) > 1
    for number, cells in enumerate(rows):
        if number and is_high:
            lines.append("")
        boxes: list[FormulaBox] = []
        for column, width in enumerate(widths):
            box = cells[column] if column < len(cells) else FormulaBox(("",))
            alignment = node.alignments[column % len(node.alignments)]
            gap = _column_gap(node, column) if column < len(widths) - 1 else 0
            if is_relational and column < len(widths) - 1 and not gap:
                gap = 1  # what follows begins with a relation
            aligned = tuple(_aligned(row, width, alignment) + " " * gap for row in box.rows)
            boxes.append(FormulaBox(aligned, box.base))
        lines += _side_by_side(boxes).rows
    width = sum(widths) + sum(_column_gap(node, column) or 1 for column in range(len(widths) - 1))
    even = tuple(_aligned(line, max(width, visible_width(line)), "l") for line in lines)
    return FormulaBox(even, len(even) // 2 if len(even) % 2 else len(even) // 2 - 1)


def _column_gap(node: Grid, column: int) -> int:
    return 2 if node.gaps[column % len(node.gaps)] == " " else 0


def _symbol(node: Symbol) -> FormulaBox:
    return FormulaBox(("" if node.kind == "blank" else node.text,))


_LAYOUTS: dict[type, Callable[[Any], FormulaBox]] = {
    Symbol: _symbol,
    NodeRow: _row,
    Fraction: _fraction,
    Root: _root,
    Scripts: _scripts,
    Accent: _accent,
    Fenced: _fenced,
    Brace: _brace,
    Boxed: _framed,
    Grid: _grid,
}
