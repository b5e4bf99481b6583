"""Splits a growing Markdown source into final blocks and a tail, which may have a stable part.

A block is final when the next one has begun with a whole line. Fenced code is final in pieces, and
lists item by item: they can be much longer than a screen, and waiting for their end would keep them
out of history. A link whose definition follows after its block became final stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pi.base.records import Record, replace
from pi.tui.widgets.markdown.draw import plain_text, shaping_rows
from pi.tui.widgets.markdown.highlight import PIECE_LINES, can_end
from pi.tui.widgets.markdown.nodes import (
    Block,
    Code,
    CodeBlock,
    DrawsLanguage,
    Formula,
    Inline,
    Item,
    List,
    Paragraph,
    Plain,
    Quote,
    Table,
)
from pi.tui.widgets.markdown.parse import PlacedBlock, language_of, link_definitions, parse

_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n", re.MULTILINE)
_UNDECIDED = re.compile(
    r"[ >]*(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*|(?:-+|=+|\*+|_+|\++|#{1,6}|\d{1,9}[.)]?) *)"
)
"""The ambiguous beginning of a line. Showing one interpretation would flicker."""


class Tail(NamedTuple):
    """The blocks after the final ones."""

    blocks: list[Block]
    closed: int
    """How many of them end with an empty line, so that the growing text belongs to none of them."""


class Splitter:
    """Takes a source in parts and returns blocks as they become final."""

    def __init__(
        self,
        *,
        keep_backslashes: bool = False,
        draw_formulas: bool = False,
        draws: DrawsLanguage | None = None,
    ) -> None:
        self._keep_backslashes = keep_backslashes
        self._draw_formulas = draw_formulas
        self._draws = draws
        self._tail = ""
        """The source that is in no final block and no code."""
        self._code: _OpenCode | None = None
        self._fences_checked = 0
        """The position in the tail up to which no line is a fence."""
        self._definitions: dict[str, str] = {}
        self._list: _OpenList | None = None

    def append(self, text: str) -> list[Block]:
        """Add source. Returns the blocks that have become final."""
        self._tail += text
        final: list[Block] = []
        if "\n" in text:
            while self._read_code(final) if self._code else self._read_text(final):
                pass
        return final

    def tail(self, *, is_last: bool) -> Tail:
        """Return the blocks after the final ones; unless ``is_last``, without ambiguous text."""
        if self._code is not None:
            rest = self._code.rest(self._tail, is_last=is_last)
            return Tail([rest if is_last else held(rest)], 0)
        text, complete = self._tail, self._tail[: self._tail.rfind("\n") + 1]
        if not is_last and _UNDECIDED.fullmatch(text, len(complete)):
            text = complete
        placed = self._parse(text)
        if not is_last and placed and isinstance(placed[-1].block, Table) and text != complete:
            text, placed = complete, self._parse(complete)  # its rows are added one by one
        closed = len(placed) - 1 if placed and _is_apart(placed[-1].start, text) else 0
        blocks = [placed_block.block for placed_block in placed]
        if blocks and not is_last:
            blocks[-1] = held(blocks[-1])
        return Tail(blocks, closed)

    def _read_code(self, final: list[Block]) -> bool:
        """Move whole lines into the code. Returns True if the code ended and more may follow."""
        assert self._code is not None
        *lines, self._tail = self._tail.split("\n")
        for number, line in enumerate(lines):
            if piece := self._code.add(line + "\n"):
                final.append(piece)
            if self._code.is_closed:
                self._code = None
                self._tail = "\n".join([*lines[number + 1 :], self._tail])
                return True
        return False

    def _read_text(self, final: list[Block]) -> bool:
        """Move blocks out of the tail. Returns True if code begins after them."""
        complete = self._tail[: self._tail.rfind("\n") + 1]
        for fence in _FENCE.finditer(complete, self._fences_checked):
            self._fences_checked = fence.end()
            placed = self._parse(complete[: fence.end()])
            start = len(complete[: fence.start()].encode())
            if placed and placed[-1].start >= start and isinstance(placed[-1].block, CodeBlock):
                self._cut(placed, fence.end(), final)
                language = language_of(fence[3])
                is_drawn = self._draws is not None and self._draws(language)
                self._code = _OpenCode(len(fence[1]), fence[2], language, is_drawn=is_drawn)
                return True
        placed = self._parse(complete)
        if len(placed) > 1:
            self._cut(placed, _line_of(placed[-1].start, complete), final)
        match placed:
            case [*_, PlacedBlock(block=List(items=(_, _, *_)) as block, last_item=last)]:
                self._cut_list(block, _line_of(last, complete) - len(complete), final)
        return False

    def _cut(self, placed: list[PlacedBlock], end: int, final: list[Block]) -> None:
        """Make all blocks but the last final."""
        final += [piece for placed_block in placed[:-1] for piece in in_pieces(placed_block.block)]
        if len(placed) > 1:
            self._list = None
        self._drop(end)

    def _cut_list(self, block: List, end: int, final: list[Block]) -> None:
        """Make all items but the last final; ``end`` counts back from the last whole line."""
        *items, last = _single_items(block)
        final += items
        self._list = _OpenList(last.first_number, is_apart=last.items[0].is_apart)
        self._drop(self._tail.rfind("\n") + 1 + end)

    def _drop(self, end: int) -> None:
        """Continue after the final part."""
        if "]:" in self._tail[:end]:
            self._definitions |= link_definitions(self._tail[:end])
        self._tail = self._tail[end:]
        self._fences_checked = 0

    def _parse(self, text: str) -> list[PlacedBlock]:
        placed = parse(
            text,
            self._definitions,
            keep_backslashes=self._keep_backslashes,
            draw_formulas=self._draw_formulas,
            draws=self._draws,
        )
        if self._list is not None and placed and isinstance(placed[0].block, List):
            placed[0] = replace(placed[0], block=self._list.continued(placed[0].block))
        return placed


def held(block: Block) -> Block:
    """Return a growing block without the code at its end that a view draws when it is complete.

    Code elsewhere in it is complete, also without a closing fence.
    """
    match block:
        case CodeBlock(is_drawn=True, is_closed=False):
            return replace(block, is_held=True)
        case Quote(children=(*others, last)):
            return replace(block, children=(*others, held(last)))
        case List(items=(*others, Item(children=(*before, last)) as item)):
            item = replace(item, children=(*before, held(last)))
            return replace(block, items=(*others, item))
        case _:
            return block


class _OpenList(NamedTuple):
    """The number and the gap with which a list continues after its final items."""

    number: int | None
    is_apart: bool

    def continued(self, block: List) -> List:
        """Return the rest of the list, which was parsed separately, as its continuation."""
        first, *others = block.items
        first = replace(first, is_apart=self.is_apart)
        return List(items=(first, *others), first_number=self.number, is_continuation=True)


def in_pieces(block: Block) -> list[Block]:
    """Return a list as one block for each item; other blocks unchanged."""
    return [*_single_items(block)] if isinstance(block, List) else [block]


def _single_items(block: List) -> list[List]:
    number = block.first_number
    return [
        List(
            items=(item,),
            first_number=None if number is None else number + index,
            is_continuation=block.is_continuation or index > 0,
        )
        for index, item in enumerate(block.items)
    ]


def _is_apart(start: int, text: str) -> bool:
    """Return whether an empty line is above the line of a byte position."""
    return text[: _line_of(start, text)].rstrip(" ").endswith("\n\n")


def _line_of(start: int, text: str) -> int:
    """Return the start of the line of a byte position, in characters."""
    return text.encode()[:start].decode().rfind("\n") + 1


class _OpenCode:
    """Fenced code without its end."""

    def __init__(self, indent: int, mark: str, language: str, *, is_drawn: bool = False) -> None:
        self.is_closed = False
        self._is_drawn = is_drawn
        self._indent = indent
        self._mark = mark
        self._language = language
        self._piece = ""
        """Lines that are not final."""
        self._lines = 0
        self._last_line = ""
        self._has_start = True

    def add(self, line: str) -> CodeBlock | None:
        """Add a whole line. Returns the code that has become final."""
        if self._closes(line):
            self.is_closed = True
            return self._block(self._piece, has_end=True)
        line = self._unindented(line)
        final = None
        is_long = self._lines >= PIECE_LINES and not self._is_drawn
        if is_long and can_end(self._piece, self._last_line, line, self._lines):
            final = self._block(self._piece, has_end=False)
            self._piece, self._lines, self._has_start = "", 0, False
        self._piece += line
        self._lines += 1
        self._last_line = line
        return final

    def rest(self, growing: str, *, is_last: bool) -> CodeBlock:
        """Return the code that is not final. ``growing`` may become the closing fence."""
        if set(growing.strip(" ")) == {self._mark[0]} and (not is_last or self._closes(growing)):
            self.is_closed = is_last
            growing = ""
        return self._block(self._piece + self._unindented(growing), has_end=is_last)

    def _closes(self, line: str) -> bool:
        bare = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        return indent < 4 and len(bare) >= len(self._mark) and set(bare) == {self._mark[0]}

    def _unindented(self, line: str) -> str:
        return line[min(self._indent, len(line) - len(line.lstrip(" "))) :]

    def _block(self, text: str, *, has_end: bool) -> CodeBlock:
        return CodeBlock(
            language=self._language,
            text=text,
            has_start=self._has_start,
            has_end=has_end,
            is_closed=self.is_closed or not self._is_drawn,
            is_drawn=self._is_drawn,
        )


_MAX_OPEN_CHARACTERS = 1000
"""Characters after which an open mark is not expected to be closed."""
_MARKS = re.compile(
    r"\[(?=[^\[\]]*\][^(\[:])|<(?=[^<>]*>)"  # closed
    r"|(?P<open>[`\[$]|\((?![^()]*\))|<(?=[a-zA-Z/!?]|\Z)|[*~](?![ \t])|(?<![^\W_])_(?![ \t])"
    r"|\\\Z|&[#\w]*\Z)"
)
"""Marks that the parser did not use. A line that ends with one may hide a backslash."""


class StablePart(Record, kw_only=False):
    """The stable part of a block."""

    block: Block
    unsure_rows: int
    """Its last rows, which may still change."""


def stable_part(block: Block) -> StablePart | None:
    """Return the part of a growing block that will not change; None if nothing is certain.

    A paragraph, a quote or a table can become higher than the window before it is complete. Its
    first rows must become history by then, otherwise they are neither on the screen nor above it.
    The rows of a table must be whole.
    """
    match block:
        case Paragraph(children=(_, *_)):
            text = _before_last_mark(block.children)
            text = _before(text, _first_open(text))
            return StablePart(replace(block, children=text), 1) if text else None
        case CodeBlock(is_drawn=False):
            complete = block.text[: block.text.rfind("\n") + 1]
            return StablePart(replace(block, text=complete, has_end=False), 0) if complete else None
        case Quote():
            children, unsure_rows = _settled_blocks(block.children)
            return StablePart(replace(block, children=children), unsure_rows) if children else None
        case List():
            return _settled_list(block)
        case Table() if len(block.rows) >= shaping_rows(block):
            return StablePart(block, 1)
        case _:
            return None


def _settled_list(block: List) -> StablePart | None:
    *others, last = block.items
    children, unsure_rows = _settled_blocks(last.children)
    if children:
        others.append(replace(last, children=children, apart=last.apart[: len(children)]))
    return StablePart(replace(block, items=tuple(others)), unsure_rows) if others else None


def _settled_blocks(blocks: Sequence[Block]) -> tuple[tuple[Block, ...], int]:
    """Return the stable part of several blocks, and how many of its last rows are uncertain."""
    if not blocks:
        return (), 0
    *others, last = blocks
    if isinstance(last, Table):  # only at top level is its last row known to be whole
        last = replace(last, rows=last.rows[:-1])
    settled = stable_part(last)
    if settled is None:
        return tuple(others), 0
    return (*others, settled.block), settled.unsure_rows


def _before_last_mark(nodes: Sequence[Inline]) -> Sequence[Inline]:
    """Remove nodes that were closed by a mark at the very end.

    The next character may change the meaning of the mark: `*a**` ends with one star too many, and
    these two close nothing once a letter follows.
    """
    end = len(nodes)
    while end and _is_mark(nodes[end - 1]):
        end -= 1
    is_sure = end == len(nodes) and isinstance(nodes[-1], Plain)
    return nodes if is_sure else nodes[: max(end - 1, 0)]


def _is_mark(node: Inline) -> bool:
    return isinstance(node, Plain) and not node.text.strip("*_~")


def _first_open(nodes: Sequence[Inline]) -> int:
    """Return how many characters come before the first that may begin something else.

    Marks that the parser did not use are in the text: a star without its partner, or a bracket that
    may become a link.
    """
    text = "".join(map(_mark_text, nodes))
    end = _start_of_table(text)
    marks = _MARKS.finditer(text, max(len(text) - _MAX_OPEN_CHARACTERS, 0), end)
    return next((mark.start() for mark in marks if mark["open"]), end)


def _start_of_table(text: str) -> int:
    """Return where the head of a table may begin, which is text until the next line arrived."""
    *others, last = text.split("\n")
    if "|" not in last:
        return len(text)
    return sum(len(line) + 1 for line in others[:-1])


def _mark_text(node: Inline) -> str:
    """Return the text of a node with dots for code; ends with a non-letter if the source does."""
    match node:
        case Plain(may_dissolve=True) | Formula(may_dissolve=True):
            return "`" + "." * (len(node.text) - 1)  # open from its beginning
        case Plain():
            return node.text
        case Code() | Formula():
            return "." * len(node.text)
        case _:
            return re.sub(r"\w\Z", ".", "".join(map(_mark_text, node.children)))


def _before(nodes: Iterable[Inline], end: int) -> tuple[Inline, ...]:
    """Return the nodes before a character; the node around it is dropped unless it is plain."""
    nodes_before: list[Inline] = []
    for node in nodes:
        length = len(plain_text((node,)))
        if length > end:
            if isinstance(node, Plain) and end:
                nodes_before.append(Plain(text=node.text[:end]))
            break
        nodes_before.append(node)
        end -= length
    return tuple(nodes_before)
