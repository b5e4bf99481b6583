"""Draws blocks, tables and inline text as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat

from pi.tui.style import Paint
from pi.tui.text.ansi import is_linkable, link
from pi.tui.text.width import pad_to_width, visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.markdown.highlight import clear_highlight_cache, highlight
from pi.tui.widgets.markdown.nodes import (
    Alignment,
    Block,
    Cell,
    Code,
    CodeBlock,
    Formula,
    Heading,
    ImageNode,
    Inline,
    Item,
    Link,
    List,
    MarkdownStyle,
    Paragraph,
    Plain,
    Quote,
    Rule,
    StyledSpan,
    Table,
)


def draw_inline(nodes: Iterable[Inline], style: MarkdownStyle) -> str:
    """Return inline nodes as one styled string; line feeds in it are line breaks."""
    return "".join(_draw(node, style) for node in nodes)


def plain_text(nodes: Iterable[Inline]) -> str:
    """Return the text without styles."""
    return "".join(
        node.text if isinstance(node, Plain | Code | Formula) else plain_text(node.children)
        for node in nodes
    )


def _draw(node: Inline, style: MarkdownStyle) -> str:
    theme = style.theme
    match node:
        case Plain() | Formula():
            return node.text
        case Code():
            return theme.code(node.text)
        case StyledSpan():
            paint = {"bold": theme.bold, "italic": theme.italic, "strike": theme.strike}
            return paint[node.mark](draw_inline(node.children, style))
        case Link():
            return _draw_link(node, style)
        case ImageNode():
            description = plain_text(node.children) or "image"
            text = Plain(text=f"[{description}]")
            return _draw_link(Link(url=node.url, children=(text,)), style)


def _draw_link(node: Link, style: MarkdownStyle) -> str:
    theme = style.theme
    text = theme.link(theme.underline(draw_inline(node.children, style)))
    if style.has_hyperlinks and is_linkable(node.url):
        return link(node.url, text)
    if not node.url or plain_text(node.children) == node.url.removeprefix("mailto:"):
        return text
    return f"{text} {theme.link_url(f'({node.url})')}"


_MIN_COLUMN = 4
"""The minimum average width of columns. Narrower tables are stacked."""
_SHAPING_ROWS = 12
_SHAPING_CHARACTERS = 400
"""Characters of a table that determine its column widths. About one window."""


def draw_table(table: Table, width: int, style: MarkdownStyle) -> list[str]:
    """Return the rows of a table, none wider than ``width``.

    Columns shrink and cells wrap; if that fails, the rows are stacked. The first rows determine the
    column widths, so that rows of a long table can become history while others are still being
    written. A later row that needs more starts a wider grid.
    """
    head = [style.theme.bold(_draw_cell(cell, style)) for cell in table.head]
    body = [[_draw_cell(cell, style) for cell in row] for row in table.rows]
    available = width - (3 * len(head) + 1)
    if available < _MIN_COLUMN * len(head):
        return _stack(head, body, width, style)
    shaping = shaping_rows(table)
    widths = _fitting(zip(head, *body[:shaping], strict=False), available)
    # Wrapped cells need lines between the rows.
    is_lined = any(_wraps(cells, widths) for cells in body[:shaping])
    lines = _draw_row(head, widths, table.alignments, style)
    rows = [_border("┌", "┬", "┐", widths, style), *lines]
    for number, cells in enumerate(body):
        before, above = widths, lines
        if number >= shaping and sum(widths) < available:
            widths = _fitting(zip(cells, strict=True), available, at_least=widths)
        lines = _draw_row(cells, widths, table.alignments, style)
        if widths != before:
            rows += [_border("└", "┴", "┘", before, style), _border("┌", "┬", "┐", widths, style)]
        elif not number or is_lined or max(len(lines), len(above)) > 1:
            rows.append(_border("├", "┼", "┤", widths, style))
        rows += lines
    return [*rows, _border("└", "┴", "┘", widths, style)]


def shaping_rows(table: Table) -> int:
    """Return how many rows below the head determine the column widths.

    Later rows do not change the rows above them.
    """
    characters = 0
    for number, row in enumerate(table.rows[:_SHAPING_ROWS], 1):
        characters += sum(len(plain_text(cell)) for cell in row)
        if characters >= _SHAPING_CHARACTERS:
            return number
    return _SHAPING_ROWS


def shrink(widths: Sequence[int], available: int) -> list[int]:
    """Reduce widths to a total of ``available``: the widest first, none below 1.

    Needs at least one column for each.
    """
    natural = [max(width, 1) for width in widths]
    limit = min(max(natural), available)
    while limit > 1 and sum(min(width, limit) for width in natural) > available:
        limit -= 1
    shrunk = [min(width, limit) for width in natural]
    spare = available - sum(shrunk)
    cut = [index for index, width in enumerate(natural) if width > limit]
    for index in cut[:spare]:
        shrunk[index] += 1
    return shrunk


def _draw_cell(cell: Cell, style: MarkdownStyle) -> str:
    return style.theme.text(draw_inline(cell, style))


def _fitting(
    columns: Iterable[Iterable[str]], available: int, at_least: Iterable[int] = repeat(0)
) -> list[int]:
    """Return the column widths for the contents."""
    natural = [max(_widest(cells), least) for cells, least in zip(columns, at_least, strict=False)]
    return shrink(natural, available)


def _wraps(cells: Sequence[str], widths: Sequence[int]) -> bool:
    return any(
        "\n" in cell or visible_width(cell) > width
        for cell, width in zip(cells, widths, strict=False)
    )


def _widest(cells: Iterable[str]) -> int:
    return max(visible_width(line) for cell in cells for line in cell.split("\n"))


def _draw_row(
    cells: Sequence[str],
    widths: Sequence[int],
    alignments: Sequence[Alignment],
    style: MarkdownStyle,
) -> list[str]:
    edge = style.theme.rule("│")
    columns = [wrap_text(cell, width) for cell, width in zip(cells, widths, strict=False)]
    height = max(len(lines) for lines in columns)
    rows = []
    for number in range(height):
        parts = [
            _aligned(lines[number] if number < len(lines) else "", width, alignment)
            for lines, width, alignment in zip(columns, widths, alignments, strict=False)
        ]
        rows.append(f"{edge} {f' {edge} '.join(parts)} {edge}")
    return rows


def _aligned(text: str, width: int, alignment: Alignment) -> str:
    free = width - visible_width(text)
    indent = {"Right": free, "Center": free // 2}.get(alignment, 0)
    return pad_to_width(" " * indent + text, width)


def _border(left: str, middle: str, right: str, widths: Sequence[int], style: MarkdownStyle) -> str:
    return style.theme.rule(left + middle.join("─" * (width + 2) for width in widths) + right)


def _stack(
    head: Sequence[str], body: Sequence[Sequence[str]], width: int, style: MarkdownStyle
) -> list[str]:
    """Return each row as lines of "head: cell", with a rule between the rows."""
    rows: list[str] = []
    for cells in body or [[""] * len(head)]:
        if rows:
            rows.append(style.theme.rule("─" * width))
        for name, cell in zip(head, cells, strict=False):
            rows += wrap_text(f"{name}: {cell}", width)
    return rows


_LONGEST_RULE = 80
_MIN_INSIDE = 8
"""Columns that an indented block needs; with fewer it is not indented."""


def clear_code_cache() -> None:
    """Clear the cache of code rows, because paints may have changed."""
    clear_highlight_cache()
    _code_rows.cache_clear()


def draw_blocks(blocks: Sequence[Block], width: int, style: MarkdownStyle) -> list[str]:
    """Draw blocks from top to bottom, with an empty row between them."""
    rows: list[str] = []
    for block in blocks:
        if rows and needs_gap(block):
            rows.append("")
        rows += draw_block(block, width, style)
    return rows


def needs_gap(block: Block) -> bool:
    """Return whether an empty row belongs above a block; False for the next part of a block."""
    match block:
        case CodeBlock(has_start=False):
            return False
        case List(is_continuation=True, items=(first, *_)):
            return first.is_apart
        case _:
            return True


def draw_block(block: Block, width: int, style: MarkdownStyle) -> list[str]:
    """Return the rows of one block, none wider than ``width``."""
    match block:
        case Paragraph():
            rows = _draw_paragraph(block, width, style)
        case Heading():
            rows = _draw_heading(block, width, style)
        case CodeBlock(is_held=True):
            rows = _draw_held(block, width, style)
        case CodeBlock():
            drawn = style.draw_code(block, width) if block.is_drawn and style.draw_code else None
            rows = _draw_code(block, width, style) if drawn is None else drawn
        case Quote():
            rows = _draw_quote(block, width, style)
        case List():
            rows = _draw_list(block, width, style)
        case Table():
            rows = draw_table(block, width, style)
        case Rule():
            rows = [style.theme.rule("─" * min(width, _LONGEST_RULE))]
    return rows


def _draw_paragraph(block: Paragraph, width: int, style: MarkdownStyle) -> list[str]:
    """Draw text, and display formulas in lines of their own."""
    rows: list[str] = []
    nodes: list[Inline] = []

    def end_text() -> None:
        text = draw_inline(nodes, style).removesuffix("\n")  # HTML ends with its line
        if rows:
            text = text.removeprefix("\n")
        if text or not rows:
            rows.extend(wrap_text(style.theme.text(text), width))
        nodes.clear()

    for node in block.children:
        if not isinstance(node, Formula) or not node.has_own_lines:
            nodes.append(node)
            continue
        if nodes:
            end_text()
        rows += _draw_formula(node, width, style)
    if nodes or not rows:
        end_text()
    return rows


def _draw_formula(formula: Formula, width: int, style: MarkdownStyle) -> list[str]:
    """Draw a formula in two dimensions, or as a line where that is wider than the screen."""
    widest = max(map(visible_width, formula.rows))
    if widest > width:
        return wrap_text(style.theme.text(formula.text), width)
    indent = "  " if widest + 2 <= width else ""
    return [indent + style.theme.text(row) if row else "" for row in formula.rows]


def _draw_heading(heading: Heading, width: int, style: MarkdownStyle) -> list[str]:
    theme = style.theme
    text = draw_inline(heading.children, style)
    if heading.level == 1:
        text = theme.underline(text)
    elif heading.level > 2:
        text = f"{'#' * heading.level} {text}"
    return wrap_text(theme.heading(theme.bold(text)), width)


def _draw_code(block: CodeBlock, width: int, style: MarkdownStyle) -> list[str]:
    """Draw indented code below its language. An incomplete line is not highlighted.

    Fences are drawn for text of the user only: elsewhere the indentation and the colours show
    where the code ends.
    """
    theme = style.theme
    complete, line_feed, growing = block.text.rpartition("\n")
    lines = highlight(complete + line_feed, block.language, theme.syntax)
    rows: list[str] = []
    indent = theme.code_indent()
    inside = width - visible_width(indent)
    if inside < _MIN_INSIDE:
        indent, inside = "", width
    keeps_fences = style.keeps_list_markers
    if block.has_start and keeps_fences:
        rows += wrap_text(theme.code_border(f"```{block.language}"), width)
    elif block.has_start and block.language:
        rows += [indent + row for row in wrap_text(theme.code_border(block.language), inside)]
    drawn = [row for line in lines for row in _code_rows(line, inside, theme.code_block)]
    if growing:  # not cached: an incomplete line is never drawn twice
        drawn += wrap_text(theme.code_block(growing), inside)
    rows += [indent + row for row in drawn]
    if block.has_end and keeps_fences:
        rows += wrap_text(theme.code_border("```"), width)
    return rows


def _draw_held(block: CodeBlock, width: int, style: MarkdownStyle) -> list[str]:
    """Draw a placeholder row for code that a view draws when it is complete."""
    theme = style.theme
    text = f"{theme.code_indent()}{theme.code_border(f'{block.language} …')}"
    return wrap_text(text, width)[:1]


@lru_cache(maxsize=512)
def _code_rows(line: str, width: int, paint: Paint) -> tuple[str, ...]:
    """Return a line of code as rows. Cached, because open code is drawn with every delta."""
    return tuple(wrap_text(paint(line), width))


def _draw_quote(quote: Quote, width: int, style: MarkdownStyle) -> list[str]:
    inside = width - 2
    if inside < _MIN_INSIDE:
        return draw_blocks(quote.children, width, style)
    border = style.theme.quote_border("│") + " "
    return [border + style.theme.quote(row) for row in draw_blocks(quote.children, inside, style)]


def _draw_list(block: List, width: int, style: MarkdownStyle) -> list[str]:
    """Draw the items, with empty rows where the source has empty lines.

    A row depends only on the rows above it, so that a growing list can become history.
    """
    rows: list[str] = []
    for index, item in enumerate(block.items):
        if rows and item.is_apart:
            rows.append("")
        marker = _marker(block, index, style)
        inside = width - visible_width(marker)
        if inside < _MIN_INSIDE:
            rows += _draw_item(item, width, style)
            continue
        first, *others = _draw_item(item, inside, style) or [""]
        indent = " " * visible_width(marker)
        rows.append(style.theme.bullet(marker) + first)
        rows += [indent + row if row else "" for row in others]
    return rows


def _draw_item(item: Item, width: int, style: MarkdownStyle) -> list[str]:
    rows: list[str] = []
    for child, is_apart in zip(item.children, item.apart, strict=True):
        if rows and is_apart:
            rows.append("")
        rows += draw_block(child, width, style)
    return rows


def _marker(block: List, index: int, style: MarkdownStyle) -> str:
    item = block.items[index]
    if style.keeps_list_markers:
        marker = item.marker
    elif block.first_number is None:
        marker = "-"
    else:
        marker = f"{block.first_number + index}."
    if item.is_checked is None:
        return f"{marker} "
    if style.keeps_list_markers:
        return f"{marker} [{'x' if item.is_checked else ' '}] "
    box = "☑ " if item.is_checked else "☐ "
    return box if block.first_number is None else f"{marker} {box}"
