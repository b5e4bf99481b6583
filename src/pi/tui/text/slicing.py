"""Cuts styled text by columns, so that what is left stands where it stood."""

from __future__ import annotations

from pi.tui.text.ansi import Weaver
from pi.tui.text.width import expand_tabs, grapheme_width, graphemes, visible_width


def slice_columns(text: str, start: int, width: int) -> str:
    """The columns from ``start`` to ``start + width`` of one line, as far as the line goes.

    A wide grapheme that is cut in two becomes spaces, so everything keeps its column. Styles and
    links that are on at the left edge are opened, those on at the right edge are closed.
    """
    start, end = max(start, 0), max(start, 0) + max(width, 0)
    if text.isascii() and text.isprintable():
        return text[start:end]
    weaver = Weaver(expand_tabs(text))
    if weaver.plain.isascii():
        weaver.skip(start)
        return weaver.piece(start, end)
    first, before = _first_from(weaver.plain, start)
    last, after = _last_until(weaver.plain, first, start + before, end)
    weaver.skip(first)
    return weaver.piece(first, last, before=" " * min(before, end - start), after=" " * after)


def truncate_to_width(text: str, width: int, ellipsis: str = "...", *, pad: bool = False) -> str:
    """One line that is at most ``width`` columns wide, ending in ``ellipsis`` if it was cut.

    With ``pad`` it is filled with spaces to exactly ``width`` columns.
    """
    width = max(width, 0)
    columns = visible_width(text)
    if columns <= width:
        return text + " " * (width - columns) if pad else text
    room = width - visible_width(ellipsis)
    if room < 0:
        return slice_columns(ellipsis, 0, width)
    return slice_columns(text, 0, room) + ellipsis


def pad_to_width(text: str, width: int) -> str:
    """The text followed by spaces up to ``width`` columns; longer text stays as it is."""
    return text + " " * (width - visible_width(text))


def _first_from(text: str, column: int) -> tuple[int, int]:
    """Where the first grapheme at or right of a column stands, and how far right of it."""
    place = reached = 0
    for grapheme in graphemes(text):
        if reached >= column:
            break
        place += len(grapheme)
        reached += grapheme_width(grapheme)
    return place, max(reached - column, 0)


def _last_until(text: str, first: int, column: int, end: int) -> tuple[int, int]:
    """Where the graphemes end that fit before column ``end``, and how many columns stay free.

    ``column`` is where the grapheme at ``first`` begins. Columns are free only if the line goes on.
    """
    place = first
    for grapheme in graphemes(text[first:]):
        width = grapheme_width(grapheme)
        if column + width > end:
            return place, max(end - column, 0)
        place += len(grapheme)
        column += width
    return place, 0
