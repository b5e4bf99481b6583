"""What a Markdown text is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.tui.style import Paint, Style, painter, unpainted

Mark: TypeAlias = Literal["bold", "italic", "strike"]

Alignment: TypeAlias = Literal["None", "Left", "Center", "Right"]


class Plain(Record):
    """Text as it is; line feeds in it are line breaks."""

    text: str


class Code(Record):
    """A piece of code inside a text."""

    text: str


class StyledSpan(Record):
    """Text that is bold, italic or struck out."""

    mark: Mark
    children: tuple[Inline, ...]


class Link(Record):
    """A link; ``children`` is what the reader sees."""

    url: str
    children: tuple[Inline, ...]


class ImageNode(Record):
    """An image that is somewhere else; ``children`` describe it."""

    url: str
    children: tuple[Inline, ...]


Inline: TypeAlias = Plain | Code | StyledSpan | Link | ImageNode


class Paragraph(Record):
    """Text that wraps."""

    children: tuple[Inline, ...]


class Heading(Record):
    """A heading of level 1 to 6."""

    level: int
    children: tuple[Inline, ...]


class CodeBlock(Record):
    """Lines of code, or a part of them while they arrive."""

    language: str
    text: str
    """What comes after the last line feed may still grow."""
    has_start: bool = True
    has_end: bool = True


class Quote(Record):
    """Blocks that somebody else said."""

    children: tuple[Block, ...]


class Item(Record):
    """An item of a list."""

    children: tuple[Block, ...]
    marker: str
    """As typed: ``-``, ``+``, ``3.``, ``7)``."""
    is_checked: bool | None = None
    """Whether a task is done; nothing if the item is no task."""
    is_apart: bool = False
    """Whether an empty line stands above it."""
    apart: tuple[bool, ...] = ()
    """The same for each of its children."""


class List(Record):
    """A list, numbered if it has a first number, or a part of one that goes on with another."""

    items: tuple[Item, ...]
    first_number: int | None
    goes_on: bool = False
    """Whether there are items of the same list in the block before."""


Cell: TypeAlias = tuple[Inline, ...]


class Table(Record):
    """Cells in rows below a head."""

    alignments: tuple[Alignment, ...]
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Rule(Record):
    """A line across."""


Block: TypeAlias = Paragraph | Heading | CodeBlock | Quote | List | Table | Rule


# How Markdown looks, passed in by whoever shows it.


class CodeTheme(Record):
    """Paints for what a highlighter tells apart."""

    comment: Paint = unpainted
    keyword: Paint = unpainted
    function: Paint = unpainted
    variable: Paint = unpainted
    string: Paint = unpainted
    number: Paint = unpainted
    type: Paint = unpainted
    operator: Paint = unpainted
    punctuation: Paint = unpainted
    inserted: Paint = unpainted
    """Lines of a patch that come."""
    deleted: Paint = unpainted
    """Lines of a patch that go."""


class MarkdownTheme(Record):
    """Paints for the parts of a Markdown text."""

    text: Paint = unpainted
    """Paragraphs, list items, table cells: everything that is nothing else."""
    heading: Paint = unpainted
    link: Paint = unpainted
    link_url: Paint = unpainted
    code: Paint = unpainted
    code_block: Paint = unpainted
    code_border: Paint = unpainted
    quote: Paint = unpainted
    quote_border: Paint = unpainted
    rule: Paint = unpainted
    bullet: Paint = unpainted
    bold: Paint = painter(Style(bold=True))
    italic: Paint = painter(Style(italic=True))
    strike: Paint = painter(Style(strike=True))
    underline: Paint = painter(Style(underline=True))
    syntax: CodeTheme = CodeTheme()
    code_indent: Callable[[], str] = lambda: "  "
    """What stands before every line of code; asked each time it is drawn."""


class MarkdownStyle(Record):
    """A theme, and what is done differently for some texts and terminals."""

    theme: MarkdownTheme = MarkdownTheme()
    has_hyperlinks: bool = False
    """Whether the terminal knows OSC 8; otherwise urls are written out."""
    keeps_list_markers: bool = False
    """Bullets and numbers as typed, as for a text of the user."""
