"""The nodes of a Markdown text, and its themes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from pi.base.records import Record
from pi.tui.style import Paint, Style, painter, unpainted

Mark: TypeAlias = Literal["bold", "italic", "strike"]

Alignment: TypeAlias = Literal["None", "Left", "Center", "Right"]


class Plain(Record):
    """Plain text; line feeds in it are line breaks."""

    text: str
    may_dissolve: bool = False
    """Whether it is a formula that becomes plain text if a mark in it is closed later."""


class Code(Record):
    """Inline code."""

    text: str


class StyledSpan(Record):
    """Bold, italic or struck-out text."""

    mark: Mark
    children: tuple[Inline, ...]


class Link(Record):
    """A link; ``children`` are its visible text."""

    url: str
    children: tuple[Inline, ...]


class ImageNode(Record):
    """An image reference; ``children`` are its description."""

    url: str
    children: tuple[Inline, ...]


class Formula(Record):
    """A display formula."""

    text: str
    """As one line."""
    rows: tuple[str, ...]
    """In two dimensions."""
    has_own_lines: bool = False
    """Whether nothing else is in its lines; only then it is drawn in two dimensions."""
    may_dissolve: bool = False
    """See ``Plain``."""


Inline: TypeAlias = Plain | Code | StyledSpan | Link | ImageNode | Formula


class Paragraph(Record):
    """Text that wraps."""

    children: tuple[Inline, ...]


class Heading(Record):
    """A heading of level 1 to 6."""

    level: int
    children: tuple[Inline, ...]


class CodeBlock(Record):
    """Lines of code, or a part of them while they stream."""

    language: str
    text: str
    """The text after the last line feed may still grow."""
    has_start: bool = True
    has_end: bool = True
    is_closed: bool = True
    """Whether its closing fence has arrived; known only for code that a view may draw."""
    is_drawn: bool = False
    """Whether a view may draw it; then it is never cut into parts."""
    is_held: bool = False
    """Whether it is not shown yet, because it is drawn once, when it is closed."""


class Quote(Record):
    """A quotation."""

    children: tuple[Block, ...]


class Item(Record):
    """An item of a list."""

    children: tuple[Block, ...]
    marker: str
    """As typed: ``-``, ``+``, ``3.``, ``7)``."""
    is_checked: bool | None = None
    """Whether a task is done; None if the item is not a task."""
    is_apart: bool = False
    """Whether an empty line is above it."""
    apart: tuple[bool, ...] = ()
    """The same for each of its children."""


class List(Record):
    """A list or a part of one, numbered if it has a first number."""

    items: tuple[Item, ...]
    first_number: int | None
    is_continuation: bool = False
    """Whether the block before has items of the same list."""


Cell: TypeAlias = tuple[Inline, ...]


class Table(Record):
    """A table with a head."""

    alignments: tuple[Alignment, ...]
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Rule(Record):
    """A horizontal rule."""


Block: TypeAlias = Paragraph | Heading | CodeBlock | Quote | List | Table | Rule


class CodeTheme(Record):
    """Paints for the token types of a highlighter."""

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
    """Added lines of a patch."""
    deleted: Paint = unpainted
    """Removed lines of a patch."""


class MarkdownTheme(Record):
    """Paints for the parts of a Markdown text."""

    text: Paint = unpainted
    """Paragraphs, list items, table cells, and everything without its own paint."""
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
    """Returns the indentation of code lines; called for each drawing."""


DrawsLanguage: TypeAlias = Callable[[str], bool]
"""Returns whether code of a language is drawn by a view."""

DrawCode: TypeAlias = Callable[[CodeBlock, int], "list[str] | None"]
"""Draws code in a width; None if the source is shown."""


class CodeViews(Protocol):
    """Draws code of some languages as something else, such as diagrams."""

    def draws(self, language: str) -> bool:
        """Return whether it draws this language. Such code is shown when it is complete."""
        ...

    def rows(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        """Return the rows; None if the source is shown.

        ``is_open`` if the text ended without the closing fence.
        """
        ...


class MarkdownStyle(Record):
    """A theme, with options for some texts and terminals."""

    theme: MarkdownTheme = MarkdownTheme()
    has_hyperlinks: bool = False
    """Whether the terminal supports OSC 8; otherwise URLs are written out."""
    keeps_list_markers: bool = False
    """Whether bullets, numbers and fences are shown as typed, as for text of the user."""
    draw_code: DrawCode | None = None
    """Called for code that a view may draw."""
