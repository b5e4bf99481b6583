"""Locates the passages that an edit replaces, and rejects placeholders for omitted text. Pure.

Line ends are ignored. An exact match is tried first. If there is none, invisible differences are
ignored: trailing spaces, variants of quotes, dashes and spaces, and Unicode compatibility forms.
Matches are always spans of the original text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

from pi.agent.tools.tool import ToolFailed
from pi.coding.files.references import LOOKALIKES


class Span(NamedTuple):
    """A passage of the original text."""

    start: int
    end: int


class Passages:
    """A text in which passages are searched."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        """With line feeds only."""
        self._returns = _return_positions(text)

    def find(self, passage: str) -> list[Span]:
        """Return all occurrences of ``passage``, or else of text that looks the same."""
        passage = passage.replace("\r\n", "\n")
        exact = [
            Span(start, start + len(passage)) for start in _find_occurrences(self.text, passage)
        ]
        return [self._in_original(span) for span in exact or self._find_similar(passage)]

    def _find_similar(self, passage: str) -> list[Span]:
        folded, needle = self._folded, Folded(passage).text
        if not needle.strip():
            return []  # only blanks are left, which would match everywhere
        spans = []
        # Trailing spaces were folded away: such a passage must end at the end of a line.
        to_line_end = passage[-1] != "\n" and passage[-1].isspace()
        for start in _find_occurrences(folded.text, needle):
            end = start + len(needle)
            at_line_end = folded.text[end : end + 1] in ("", "\n")
            if at_line_end and not needle.endswith("\n"):
                spans.append(self._with_line_end(folded.span(start, end)))
            elif not to_line_end:
                spans.append(folded.span(start, end))
        return spans

    def _with_line_end(self, span: Span) -> Span:
        """Extend a span by the spaces at the end of its last line."""
        line_end = self.text.find("\n", span.end)
        return Span(span.start, len(self.text) if line_end < 0 else line_end)

    @cached_property
    def _folded(self) -> Folded:
        return Folded(self.text)

    def _in_original(self, span: Span) -> Span:
        if not self._returns:
            return span
        return Span(*(index + bisect_left(self._returns, index) for index in span))


class _Line(NamedTuple):
    """A folded line and its position in the original text."""

    folded_start: int
    start: int
    clusters: list[Span] | None
    """Original span of each folded character; ``None`` if they correspond one to one."""


class Folded:
    """A text without invisible differences, with a mapping back to the original."""

    def __init__(self, text: str) -> None:
        self._lines: list[_Line] = []
        looks: list[str] = []
        folded_start = start = 0
        for line in text.split("\n"):
            seen = line.rstrip()
            clusters = None
            if not seen.isascii():
                seen, clusters = _folded_line(seen)
            self._lines.append(_Line(folded_start, start, clusters))
            looks.append(seen)
            folded_start += len(seen) + 1
            start += len(line) + 1
        self._starts = [line.folded_start for line in self._lines]
        self.text = "\n".join(looks)

    def span(self, start: int, end: int) -> Span:
        """Return the original span of a non-empty passage of the folded text."""
        return Span(self._original_span(start).start, self._original_span(end - 1).end)

    def _original_span(self, index: int) -> Span:
        number = bisect_right(self._starts, index) - 1
        line = self._lines[number]
        offset = index - line.folded_start
        if self.text[index] == "\n":
            end = self._lines[number + 1].start
            return Span(end - 1, end)
        if line.clusters is None:
            return Span(line.start + offset, line.start + offset + 1)
        return Span(*(line.start + index for index in line.clusters[offset]))


def _folded_line(line: str) -> tuple[str, list[Span]]:
    looks: list[str] = []
    clusters: list[Span] = []
    for cluster, start in _split_clusters(line):
        seen = unicodedata.normalize("NFKC", cluster.translate(LOOKALIKES)).translate(LOOKALIKES)
        looks.append(seen)
        clusters += [Span(start, start + len(cluster))] * len(seen)
    return "".join(looks), clusters


def _split_clusters(line: str) -> Iterator[tuple[str, int]]:
    """Yield characters with their combining marks, and their positions."""
    start = 0
    for index in range(1, len(line) + 1):
        if index == len(line) or not unicodedata.combining(line[index]):
            yield line[start:index], start
            start = index


def _find_occurrences(text: str, passage: str) -> Iterator[int]:
    index = text.find(passage) if passage else -1
    while index >= 0:
        yield index
        index = text.find(passage, index + len(passage))


def _return_positions(text: str) -> list[int]:
    """Return the positions of removed carriage returns in the text with line feeds only."""
    positions: list[int] = []
    index = text.find("\r\n")
    while index >= 0:
        positions.append(index - len(positions))
        index = text.find("\r\n", index + 2)
    return positions


_MARKERS = r"""
      \[ (?:more\ than\ )? \d+ \ more\ lines\ in\ file\.\ Use\ offset=\d+ \ to\ continue\.\]
    | \[ Showing\ (?:lines\ \d+-\d+|last\ [\d.]+[KM]?B)\ of\ .* \]
    | \[ Line\ \d+\ is\ (?:more\ than\ )? [\d.]+[KM]?B,\ exceeds\ .* \]
    | .{400,} \.\.\.\ \[truncated\]
    | (?: // | \# | -- | ; | /\* | <!-- )? \s*+ (?: \.\.\. | … ) \s*+
      \(? (?: existing | remaining | unchanged | the\ rest | rest\ of | other ) \b [\w\ ]{0,40}?
      \b (?: code | file | content | function | method | class | lines | unchanged ) s? \)? \s*+
      (?: \.\.\. | … )?+ \s*+ (?: \*/ | --> )?
    """
"""Notices of our own tools, and comments that models write in place of omitted text.

They must never become the content of a file.
"""


def elisions(text: str) -> list[str]:
    """Return the lines of ``text`` that are placeholders for omitted text."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if _may_mark(line) and _markers().fullmatch(line)]


def refuse_elisions(marks: list[str], *, before: str) -> None:
    """Raise ``ToolFailed`` if one of ``marks`` is not in ``before``, the old text of the file."""
    for mark in marks:
        if mark not in before:
            raise ToolFailed(
                f"Nothing was written: the line {mark[-120:]!r} stands for text that was left "
                "out, and would replace it. Give the whole text; read the rest of the file first "
                "if it was shown only in part."
            )


@cache
def _markers() -> re.Pattern[str]:
    return re.compile(_MARKERS, re.VERBOSE | re.IGNORECASE)


def _may_mark(line: str) -> bool:
    return line.startswith("[") or "..." in line or "…" in line
