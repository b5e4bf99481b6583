"""Where in a text the passages are that somebody wants to change. Pure.

Line ends never matter. A passage is looked for as it is first; only if it is nowhere, differences
that nobody sees are passed over: spaces at the ends of lines, the forms of quotes, dashes and
spaces, and Unicode compatibility forms. What is found is always a span of the original text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from pi.coding.files.lookalikes import LOOKALIKES


class Span(NamedTuple):
    """A passage of the original text."""

    start: int
    end: int


class Passages:
    """A text in which passages are looked for."""

    def __init__(self, text: str) -> None:
        self._original = text
        self.text = text.replace("\r\n", "\n")
        """With line feeds only."""
        self._returns = _returns(text)

    def find(self, wanted: str) -> list[Span]:
        """All places where ``wanted`` is, or else where something is that looks like it."""
        wanted = wanted.replace("\r\n", "\n")
        exact = [Span(at, at + len(wanted)) for at in _occurrences(self.text, wanted)]
        return [self._in_original(span) for span in exact or self._alike(wanted)]

    def _alike(self, wanted: str) -> list[Span]:
        folded, needle = self._folded, fold(wanted)
        if not needle.text.strip():
            return []  # nothing is left of it, and nothing is everywhere
        spans = []
        # What has lost the spaces at its end was meant to end there.
        to_line_end = wanted[-1] != "\n" and wanted[-1].isspace()
        for at in _occurrences(folded.text, needle.text):
            end = at + len(needle.text)
            at_line_end = folded.text[end : end + 1] in ("", "\n")
            if at_line_end or not to_line_end:
                spans.append(Span(folded.starts[at], self._end(end, at_line_end=at_line_end)))
        return spans

    def _end(self, folded_end: int, *, at_line_end: bool) -> int:
        """Where a passage ends; the spaces at the end of its last line belong to it."""
        end = self._folded.ends[folded_end - 1]
        if not at_line_end or self._folded.text[folded_end - 1] == "\n":
            return end
        line_end = self.text.find("\n", end)
        return len(self.text) if line_end < 0 else line_end

    @cached_property
    def _folded(self) -> Folded:
        return fold(self.text)

    def _in_original(self, span: Span) -> Span:
        if not self._returns:
            return span
        return Span(*(place + bisect_left(self._returns, place) for place in span))


class Folded(NamedTuple):
    """A text as it looks, and where each of its characters comes from."""

    text: str
    starts: list[int]
    ends: list[int]


def fold(text: str) -> Folded:
    """``text`` with differences removed that nobody sees."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    place = 0
    for line in text.split("\n"):
        seen = line.rstrip()
        for cluster, at in _clusters(seen):
            looks = cluster
            if not cluster.isascii():
                looks = unicodedata.normalize("NFKC", cluster.translate(LOOKALIKES))
                looks = looks.translate(LOOKALIKES)
            pieces.append(looks)
            starts += [place + at] * len(looks)
            ends += [place + at + len(cluster)] * len(looks)
        place += len(line)
        pieces.append("\n")
        starts.append(place)
        place += 1
        ends.append(place)
    return Folded("".join(pieces)[:-1], starts[:-1], ends[:-1])


def _clusters(line: str) -> Iterator[tuple[str, int]]:
    """Characters with the accents that follow them, and where they stand."""
    if line.isascii():
        yield from ((char, at) for at, char in enumerate(line))
        return
    start = 0
    for at in range(1, len(line) + 1):
        if at == len(line) or not unicodedata.combining(line[at]):
            yield line[start:at], start
            start = at


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


def _returns(text: str) -> list[int]:
    """Where, in the text with line feeds only, a line feed has lost its carriage return."""
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return places
