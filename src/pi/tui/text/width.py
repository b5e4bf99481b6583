"""How many columns a text takes on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from pi.tui.text.ansi import strip_sequences

TAB_WIDTH = 4
_TAB = " " * TAB_WIDTH

_SIMPLE = re.compile(
    r"[ -~\xa1-\xac\xae-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f"
    r"\u2010-\u2027\u2030-\u205e\u2190-\u2193\u2500-\u25fc\u2713-\u2718\u2800-\u28ff]*+"
)
"""Letters, punctuation and lines that are all one column wide and never combine."""

_LONGEST_KEPT = 1024


def visible_width(text: str) -> int:
    """The columns of a text; escape sequences take none, a line feed takes none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return _measured(text) if len(text) > _LONGEST_KEPT else _remembered(text)


def graphemes(text: str) -> Iterator[str]:
    """What a reader sees as single characters; together they are the text.

    The text must be free of escape sequences.
    """
    if is_simple(text):
        return iter(text)
    found: Iterator[str] = _unicode().iter_graphemes(text)
    return found


def is_simple(text: str) -> bool:
    """Whether everything in a text is one column wide wherever it is shown, and nothing combines.

    Escape sequences are not simple.
    """
    return _SIMPLE.fullmatch(text) is not None


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
    if is_simple(shown):
        return len(shown)
    width: int = _unicode().wcswidth(shown)
    return width


_remembered = lru_cache(maxsize=8192)(_measured)
"""A frame measures mostly the lines of the frame before."""


@lru_cache(maxsize=1)
def _unicode() -> ModuleType:
    # Its tables take 10 ms to load, which the first frame of a program should not wait for.
    import wcwidth

    return wcwidth
