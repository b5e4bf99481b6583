"""How many columns a text takes on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from wcwidth import iter_graphemes, wcswidth

from pi.tui.text.ansi import strip_sequences

TAB_WIDTH = 4
_TAB = " " * TAB_WIDTH


def visible_width(text: str) -> int:
    """The columns of a text; escape sequences take none, a line feed takes none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return _measured(text) if len(text) > _LONGEST_KEPT else _remembered(text)


def graphemes(text: str) -> Iterator[str]:
    """What a reader sees as single characters; together they are the text.

    The text must be free of escape sequences.
    """
    return iter_graphemes(text)


@lru_cache(maxsize=4096)
def grapheme_width(grapheme: str) -> int:
    """The columns of a single grapheme: 0, 1 or 2; ``TAB_WIDTH`` for a tab."""
    return visible_width(grapheme)


def expand_tabs(text: str) -> str:
    """The text with every tab as spaces, as wide as ``visible_width`` counts it."""
    return text.replace("\t", _TAB)


def _measured(text: str) -> int:
    shown = strip_sequences(text)
    if "\t" in shown or "\n" in shown:
        shown = expand_tabs(shown).replace("\n", "")
    return len(shown) if shown.isascii() else wcswidth(shown)


_LONGEST_KEPT = 1024
_remembered = lru_cache(maxsize=8192)(_measured)
"""A frame measures mostly the lines of the frame before."""
