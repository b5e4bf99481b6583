"""Wraps styled text.

Lines break at spaces, which are dropped, and beside CJK characters. A word that is longer than a
line is broken between graphemes. The indentation of a paragraph stays on its first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from pi.tui.text.ansi import SEQUENCE, StyledLine, StyleState, has_sequences
from pi.tui.text.width import expand_tabs, grapheme_width, graphemes, visible_width

_WORD = re.compile(r"[^ ]+")

_IDEOGRAPHIC = (
    r"[\u2e80-\u2fdf\u3000-\u30ff\u3105-\u312f\u3190-\u4dbf\u4e00-\ua4cf\uac00-\ud7a3\uf900-\ufaff"
    r"\ufe30-\ufe4f\uff00-\uff9f\uffe0-\uffe6\U0001b000-\U0001b2ff\U00020000-\U0003fffd]"
)
"""Characters of scripts that can be broken between any two of them."""

_NEVER_FIRST = frozenset(
    "、。，．・：；？！）］｝〕〉》」』】〙〗ー々ゝヽぁぃぅぇぉっゃゅょァィゥェォッャュョ,.:;?!)]}%…’”"
)
_NEVER_LAST = frozenset("（［｛〔〈《「『【〘〖([{‘“$")

_TOO_WIDE = "?"
"""Replaces a grapheme that is wider than a whole line."""


def wrap_text(text: str, width: int) -> list[str]:
    """Return lines of at most ``width`` columns; styles and links continue across lines.

    Each line closes its styles. Line feeds separate paragraphs; an empty text is one empty line.
    """
    if width < 1:
        return [""]
    text = _narrowed(expand_tabs(text)) if width < 2 else expand_tabs(text)
    lines: list[str] = []
    if has_sequences(text):
        state = StyleState()
        for paragraph in text.split("\n"):
            weaver = StyledLine(paragraph, state)
            lines += [weaver.piece(*span) for span in line_spans(weaver.plain, width)]
    else:
        for paragraph in text.split("\n"):
            lines += [paragraph[start:end] for start, end in line_spans(paragraph, width)]
    return lines


def wrap_parts(text: str, separator: str, width: int) -> list[str]:
    """Wrap a row of parts between them; the separators at the breaks are dropped.

    Only a part that is longer than a line is broken itself.
    """
    rows = [""]
    for part in text.split(separator):
        longer = f"{rows[-1]}{separator}{part}" if rows[-1] else part
        if visible_width(longer) <= width:
            rows[-1] = longer
        else:
            rows.append(part)
    return [line for row in rows if row for line in wrap_text(row, width)]


def line_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Return the start and end of the lines of one plain paragraph, without spaces at breaks.

    No grapheme may be wider than ``width``, and tabs must be expanded.
    """
    if visible_width(text) <= width:
        return [(0, len(text))]
    if text.isascii():
        return _ascii_spans(text, width)
    lines = _Lines(text, width)
    for word in _WORD.finditer(text):
        for start, end in _units(word[0]):
            lines.add(word.start() + start, word.start() + end)
    return lines.finished()


def _ascii_spans(text: str, width: int) -> list[tuple[int, int]]:
    """Like ``_Lines``, but several times faster, for text with one column per character."""
    spans: list[tuple[int, int]] = []
    start = 0
    content_end = len(text.rstrip(" "))
    while content_end - start > width:
        limit = start + width
        end = start + len(text[start : text.rfind(" ", start, limit + 1) + 1].rstrip(" "))
        if end == start and not text[start:limit].isspace():
            end = limit
        if end > start:
            spans.append((start, end))
        start = end
        while text[start] == " ":
            start += 1
    return [*spans, (start, min(len(text), start + width))]


class _Lines:
    """Fills lines with unbreakable units of a text."""

    def __init__(self, text: str, width: int) -> None:
        self._text = text
        self._width = width
        self._start = self._end = 0
        self._column = 0
        self._spans: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Add the next unit; between the last one and this one there are only spaces."""
        gap = start - self._end
        columns = visible_width(self._text[start:end])
        if self._column + gap + columns <= self._width:
            self._column += gap + columns
        else:
            self._make_room(start, gap)
            if self._column + columns <= self._width:
                self._column += columns
            else:
                self._break_unit(start, end)
        self._end = end

    def finished(self) -> list[tuple[int, int]]:
        """Return all lines; trailing spaces are kept as far as they fit."""
        end = min(len(self._text), self._end + self._width - self._column)
        return [*self._spans, (self._start, end)]

    def _make_room(self, start: int, gap: int) -> None:
        """Begin a new line, or keep the indentation if the line is empty otherwise."""
        if self._end == self._start and gap < self._width:
            self._column = gap
            return
        if self._end > self._start:
            self._spans.append((self._start, self._end))
        self._start = start
        self._column = 0

    def _break_unit(self, start: int, end: int) -> None:
        """Add a unit that is longer than the rest of this line, and maybe than any line."""
        for grapheme in graphemes(self._text[start:end]):
            columns = grapheme_width(grapheme)
            if self._column + columns > self._width:
                self._spans.append((self._start, start))
                self._start, self._column = start, 0
            self._column += columns
            start += len(grapheme)


def _units(word: str) -> Iterator[tuple[int, int]]:
    """Yield the unbreakable parts of a word: all of it, unless it has CJK characters."""
    if word.isascii() or not _ideographic().search(word):
        yield 0, len(word)
        return
    start = position = 0
    was_cjk = may_end = False
    for grapheme in graphemes(word):
        is_cjk = _ideographic().match(grapheme) is not None
        if may_end and (is_cjk or was_cjk) and grapheme[0] not in _NEVER_FIRST:
            yield start, position
            start = position
        was_cjk, may_end = is_cjk, grapheme[0] not in _NEVER_LAST
        position += len(grapheme)
    yield start, position


@cache
def _ideographic() -> re.Pattern[str]:
    """Compiled on first use: it takes longer than the first frame."""
    return re.compile(_IDEOGRAPHIC)


def _narrowed(text: str) -> str:
    """Replace graphemes that need two columns."""
    if text.isascii():
        return text
    marks = SEQUENCE.findall(text)
    runs = [
        "".join(
            _TOO_WIDE if grapheme_width(grapheme) > 1 else grapheme for grapheme in graphemes(run)
        )
        for run in SEQUENCE.split(text)
    ]
    return "".join(part for pair in zip(runs, [*marks, ""], strict=True) for part in pair)
