"""Finds text in rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.records import Record
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width


class Match(Record):
    """Where a text was found, in columns."""

    row: int
    start: int
    end: int


def find_all(rows: Sequence[str], text: str) -> list[Match]:
    """Every place where ``text`` stands in a row; capitals matter only if ``text`` has some."""
    if not text:
        return []
    fold = text == text.lower()
    found: list[Match] = []
    for number, row in enumerate(rows):
        plain = strip_sequences(row)
        line = plain.lower() if fold and len(plain.lower()) == len(plain) else plain
        at = line.find(text)
        while at >= 0:
            start = visible_width(plain[:at])
            width = visible_width(plain[at : at + len(text)])
            found.append(Match(row=number, start=start, end=start + width))
            at = line.find(text, at + len(text))
    return found
