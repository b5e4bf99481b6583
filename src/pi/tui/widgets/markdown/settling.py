"""What of a block will stay as it is although the block is still being written. Pure.

A paragraph, a quote or a table can be taller than the window long before it is over. Its first rows
are to become history by then: otherwise they are neither on the screen nor above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pi.base.records import Record, replace
from pi.tui.widgets.markdown.inline import plain_text
from pi.tui.widgets.markdown.nodes import (
    Block,
    Code,
    CodeBlock,
    Inline,
    List,
    Paragraph,
    Plain,
    Quote,
    Table,
)
from pi.tui.widgets.markdown.tables import shaping_rows

_FURTHEST = 1000
"""Characters behind which nobody closes what was opened before them."""
_MARKS = re.compile(
    r"\[(?=[^\[\]]*\][^(\[:])|<(?=[^<>]*>)"  # closed
    r"|(?P<open>[`\[$]|\((?![^()]*\))|<(?=[a-zA-Z/!?]|\Z)|[*~](?![ \t])|(?<![^\W_])_(?![ \t])"
    r"|\\\Z|&[#\w]*\Z)"
)
"""Marks of which the parser has made no use. A line that ends with one may hide a backslash."""


class Settled(Record, kw_only=False):
    """The part of a block that stays."""

    block: Block
    unsure_rows: int
    """Its last rows, which may still change."""


def settled_part(block: Block) -> Settled | None:
    """What stays of a block to which more may be added; None if nothing is sure.

    The rows of a table must be whole.
    """
    match block:
        case Paragraph(children=(_, *_)):
            text = _before_last_mark(block.children)
            text = _before(text, _first_open(text))
            return Settled(replace(block, children=text), 1) if text else None
        case CodeBlock():
            whole = block.text[: block.text.rfind("\n") + 1]
            return Settled(replace(block, text=whole, has_end=False), 0) if whole else None
        case Quote():
            children, unsure_rows = _settled_blocks(block.children)
            return Settled(replace(block, children=children), unsure_rows) if children else None
        case List():
            return _settled_list(block)
        case Table() if len(block.rows) >= shaping_rows(block):
            return Settled(block, 1)
        case _:
            return None


def _settled_list(block: List) -> Settled | None:
    *others, last = block.items
    children, unsure_rows = _settled_blocks(last.children)
    if children:
        others.append(replace(last, children=children, apart=last.apart[: len(children)]))
    return Settled(replace(block, items=tuple(others)), unsure_rows) if others else None


def _settled_blocks(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], int]:
    """What stays of several, and how many of its last rows are unsure."""
    if not blocks:
        return (), 0
    *others, last = blocks
    if isinstance(last, Table):  # only outside of other blocks its last row is known to be whole
        last = replace(last, rows=last.rows[:-1])
    settled = settled_part(last)
    if settled is None:
        return tuple(others), 0
    return (*others, settled.block), settled.unsure_rows


def _before_last_mark(nodes: Sequence[Inline]) -> Sequence[Inline]:
    """The nodes without what was closed by a mark that reaches up to the last character.

    The next character may make another mark of it: `*a**` ends with one star too many, which are
    two that close nothing once a letter stands behind them.
    """
    end = len(nodes)
    while end and _is_mark(nodes[end - 1]):
        end -= 1
    is_sure = end == len(nodes) and isinstance(nodes[-1], Plain)
    return nodes if is_sure else nodes[: max(end - 1, 0)]


def _is_mark(node: Inline) -> bool:
    return isinstance(node, Plain) and not node.text.strip("*_~")


def _first_open(nodes: Sequence[Inline]) -> int:
    """How many characters of a text come before the first that may begin something else.

    What the parser has made no use of stands in the text as it is: a star whose other one has not
    come yet, a bracket that may become a link.
    """
    text = "".join(map(_as_read_by_marks, nodes))
    end = _start_of_table(text)
    marks = _MARKS.finditer(text, max(len(text) - _FURTHEST, 0), end)
    return next((mark.start() for mark in marks if mark["open"]), end)


def _start_of_table(text: str) -> int:
    """Where the head of a table may begin, which is text until the line below it has come."""
    *others, last = text.split("\n")
    if "|" not in last:
        return len(text)
    return sum(len(line) + 1 for line in others[:-1])


def _as_read_by_marks(node: Inline) -> str:
    """Its text without the marks in code; where it ends with a mark in the source, no letter."""
    match node:
        case Plain():
            return node.text
        case Code():
            return "." * len(node.text)
        case _:
            return re.sub(r"\w\Z", ".", "".join(map(_as_read_by_marks, node.children)))


def _before(nodes: Iterable[Inline], end: int) -> tuple[Inline, ...]:
    """The nodes up to a character; what it is in the middle of is left out unless it is plain."""
    kept: list[Inline] = []
    for node in nodes:
        length = len(plain_text((node,)))
        if length > end:
            if isinstance(node, Plain) and end:
                kept.append(Plain(text=node.text[:end]))
            break
        kept.append(node)
        end -= length
    return tuple(kept)
