"""Measures, slices, truncates and pads text by columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from pi.tui.style import Paint
from pi.tui.text.ansi import StyledLine, strip_sequences


def inner_width(width: int, pad_x: int) -> int:
    """Return the width between two paddings; at least one column."""
    return max(width - 2 * pad_x, 1)


def padded(
    lines: list[str], width: int, *, pad_x: int, pad_y: int, background: Paint | None
) -> list[str]:
    """Pad lines that fit ``inner_width``; fills them if there is a background."""
    margin = " " * min(pad_x, max(width - 1, 0))
    rows = [*[""] * pad_y, *(margin + line if line else "" for line in lines), *[""] * pad_y]
    if background is None:
        return rows
    return [background(pad_to_width(row, width)) for row in rows]


TAB_WIDTH = 4
_TAB = " " * TAB_WIDTH

_SIMPLE = re.compile(
    r"[ -~\xa1-\xac\xae-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f"
    r"\u2010-\u2027\u2030-\u205e\u2190-\u2193\u2500-\u25fc\u2713-\u2718\u2800-\u28ff]*+"
)
"""Letters, punctuation and line-drawing characters that are one column wide and never combine."""

_LONGEST_CACHED = 1024


def visible_width(text: str) -> int:
    """Return the columns of a text. Escape sequences and line feeds take none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return _measure(text) if len(text) > _LONGEST_CACHED else _cached_width(text)


def graphemes(text: str) -> Iterator[str]:
    """Yield the graphemes of a text.

    The text must not contain escape sequences.
    """
    if is_simple(text):
        return iter(text)
    clusters: Iterator[str] = _unicode().iter_graphemes(text)
    return clusters


def is_simple(text: str) -> bool:
    """Return whether all characters are one column wide in every terminal, and none combine.

    Escape sequences are not simple.
    """
    return _SIMPLE.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def grapheme_width(grapheme: str) -> int:
    """Return the columns of a single grapheme: 0, 1 or 2; ``TAB_WIDTH`` for a tab.

    A spacing mark that is a grapheme of its own takes a column only after a letter.
    """
    return visible_width(grapheme) or visible_width(f"a{grapheme}") - 1


def expand_tabs(text: str) -> str:
    """Replace tabs by spaces, as wide as ``visible_width`` counts them."""
    return text.replace("\t", _TAB)


def _measure(text: str) -> int:
    plain = strip_sequences(text)
    if "\t" in plain or "\n" in plain:
        plain = expand_tabs(plain).replace("\n", "")
    if is_simple(plain):
        return len(plain)
    width: int = _unicode().wcswidth(plain)
    return width


_cached_width = lru_cache(maxsize=8192)(_measure)
"""Most lines of a frame are also in the frame before."""


@lru_cache(maxsize=1)
def _unicode() -> ModuleType:
    # lazy: its tables take 10 ms to load, which would delay the first frame
    import wcwidth

    return wcwidth


def slice_columns(text: str, start: int, width: int) -> str:
    """Return the columns from ``start`` to ``start + width`` of one line.

    A wide grapheme that is cut in two becomes spaces, so that all columns stay aligned. Styles and
    links that are active at the left edge are opened; those active at the right edge are closed.
    """
    start, end = max(start, 0), max(start, 0) + max(width, 0)
    if text.isascii() and text.isprintable():
        return text[start:end]
    weaver = StyledLine(expand_tabs(text))
    if weaver.plain.isascii():
        weaver.skip(start)
        return weaver.piece(start, end)
    first, before = _first_from(weaver.plain, start)
    last, after = _last_until(weaver.plain, first, start + before, end)
    weaver.skip(first)
    return weaver.piece(first, last, before=" " * min(before, end - start), after=" " * after)


def truncate_to_width(text: str, width: int, ellipsis: str = "...", *, pad: bool = False) -> str:
    """Truncate a line to ``width`` columns, ending in ``ellipsis`` if it was cut.

    With ``pad`` it is filled with spaces to exactly ``width`` columns.
    """
    width = max(width, 0)
    columns = visible_width(text)
    if columns <= width:
        return text + " " * (width - columns) if pad else text
    text_width = width - visible_width(ellipsis)
    if text_width < 0:
        return slice_columns(ellipsis, 0, width)
    return slice_columns(text, 0, text_width) + ellipsis


def pad_to_width(text: str, width: int) -> str:
    """Pad a text with spaces to ``width`` columns; longer text is unchanged."""
    return text + " " * (width - visible_width(text))


def _first_from(text: str, column: int) -> tuple[int, int]:
    """Return the index of the first grapheme at or right of a column, and its distance from it."""
    index = reached = 0
    for grapheme in graphemes(text):
        if reached >= column:
            break
        index += len(grapheme)
        reached += grapheme_width(grapheme)
    return index, max(reached - column, 0)


def _last_until(text: str, first: int, column: int, end: int) -> tuple[int, int]:
    """Return where the graphemes end that fit before column ``end``, and the free columns.

    ``column`` is the start of the grapheme at ``first``. Columns are free only if the line
    continues.
    """
    index = first
    for grapheme in graphemes(text[first:]):
        width = grapheme_width(grapheme)
        if column + width > end:
            return index, max(end - column, 0)
        index += len(grapheme)
        column += width
    return index, 0
