"""Blocks → rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pi.tui.style import Paint
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.markdown.highlight import forget_colours, highlight
from pi.tui.widgets.markdown.inline import draw_inline
from pi.tui.widgets.markdown.look import Look
from pi.tui.widgets.markdown.nodes import (
    Block,
    CodeBlock,
    Heading,
    Item,
    List,
    Paragraph,
    Quote,
    Rule,
    Table,
)
from pi.tui.widgets.markdown.tables import draw_table

_LONGEST_RULE = 80
_LEAST_INSIDE = 8
"""Columns that an indented block needs; with fewer it is not indented."""


def forget_code() -> None:
    """Draw all code anew, because paints may have changed behind their names."""
    forget_colours()
    _code_rows.cache_clear()


def draw_blocks(blocks: Sequence[Block], width: int, look: Look) -> list[str]:
    """Blocks from top to bottom, with an empty row between each two."""
    rows: list[str] = []
    for block in blocks:
        if rows and starts_apart(block):
            rows.append("")
        rows += draw_block(block, width, look)
    return rows


def starts_apart(block: Block) -> bool:
    """Whether an empty row belongs above a block; not inside of what comes in parts."""
    match block:
        case CodeBlock(has_start=False):
            return False
        case List(goes_on=True, items=(first, *_)):
            return first.is_apart
        case _:
            return True


def draw_block(block: Block, width: int, look: Look) -> list[str]:
    """The rows of one block, none wider than ``width``."""
    match block:
        case Paragraph():
            text = draw_inline(block.children, look).removesuffix("\n")  # HTML ends with its line
            rows = wrap_text(look.theme.text(text), width)
        case Heading():
            rows = _draw_heading(block, width, look)
        case CodeBlock():
            rows = _draw_code(block, width, look)
        case Quote():
            rows = _draw_quote(block, width, look)
        case List():
            rows = _draw_list(block, width, look)
        case Table():
            rows = draw_table(block, width, look)
        case Rule():
            rows = [look.theme.rule("─" * min(width, _LONGEST_RULE))]
    return rows


def _draw_heading(heading: Heading, width: int, look: Look) -> list[str]:
    theme = look.theme
    text = draw_inline(heading.children, look)
    if heading.level == 1:
        text = theme.underline(text)
    elif heading.level > 2:
        text = f"{'#' * heading.level} {text}"
    return wrap_text(theme.heading(theme.bold(text)), width)


def _draw_code(block: CodeBlock, width: int, look: Look) -> list[str]:
    """The code between its fences; a line that is still growing stays plain until it is whole."""
    theme = look.theme
    whole, line_feed, growing = block.text.rpartition("\n")
    lines = highlight(whole + line_feed, block.language, theme.syntax)
    rows: list[str] = []
    if block.has_start:
        rows += wrap_text(theme.code_border(f"```{block.language}"), width)
    indent = theme.code_indent()
    inside = width - visible_width(indent)
    if inside < _LEAST_INSIDE:
        indent, inside = "", width
    drawn = [row for line in lines for row in _code_rows(line, inside, theme.code_block)]
    if growing:  # it is never drawn twice: to remember it would take memory for nothing
        drawn += wrap_text(theme.code_block(growing), inside)
    rows += [indent + row for row in drawn]
    if block.has_end:
        rows += wrap_text(theme.code_border("```"), width)
    return rows


@lru_cache(maxsize=512)
def _code_rows(line: str, width: int, paint: Paint) -> tuple[str, ...]:
    """A line of code as rows; remembered, since open code is drawn again with all that comes."""
    return tuple(wrap_text(paint(line), width))


def _draw_quote(quote: Quote, width: int, look: Look) -> list[str]:
    inside = width - 2
    if inside < _LEAST_INSIDE:
        return draw_blocks(quote.children, width, look)
    border = look.theme.quote_border("│") + " "
    return [border + look.theme.quote(row) for row in draw_blocks(quote.children, inside, look)]


def _draw_list(block: List, width: int, look: Look) -> list[str]:
    """The items, with empty rows where the source has empty lines.

    A row depends only on what stands above it, so that a growing list can become history.
    """
    rows: list[str] = []
    for place, item in enumerate(block.items):
        if rows and item.is_apart:
            rows.append("")
        marker = _marker(block, place, look)
        inside = width - visible_width(marker)
        if inside < _LEAST_INSIDE:
            rows += _draw_item(item, width, look)
            continue
        first, *others = _draw_item(item, inside, look) or [""]
        indent = " " * visible_width(marker)
        rows.append(look.theme.bullet(marker) + first)
        rows += [indent + row if row else "" for row in others]
    return rows


def _draw_item(item: Item, width: int, look: Look) -> list[str]:
    rows: list[str] = []
    for child, is_apart in zip(item.children, item.apart, strict=True):
        if rows and is_apart:
            rows.append("")
        rows += draw_block(child, width, look)
    return rows


def _marker(block: List, place: int, look: Look) -> str:
    item = block.items[place]
    if look.keeps_list_markers:
        marker = item.marker
    elif block.first_number is None:
        marker = "-"
    else:
        marker = f"{block.first_number + place}."
    box = {None: "", True: "[x] ", False: "[ ] "}[item.is_checked]
    return f"{marker} {box}"
