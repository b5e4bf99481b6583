"""How Markdown looks, passed in by whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.records import Record
from pi.tui.style import Paint, Style, painter, unpainted


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


class Look(Record):
    """A theme, and what is done differently for some texts and terminals."""

    theme: MarkdownTheme = MarkdownTheme()
    has_hyperlinks: bool = False
    """Whether the terminal knows OSC 8; otherwise urls are written out."""
    keeps_list_markers: bool = False
    """Bullets and numbers as typed, as for a text of the user."""
