"""Where text is that a reader has before their eyes, once everything is laid out anew. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.text.ansi import strip_sequences


def followed(old: Sequence[str], shown: range, new: Sequence[str]) -> int:
    """The row of ``new`` to begin with, so that what was ``shown`` of ``old`` stays where it was.

    The first row that says something and is found again decides: rows are told apart by their
    text, and by how many before them say the same. Who is at the top stays there.
    """
    if not shown.start or old[: shown.start + 1] == new[: shown.start + 1]:
        return shown.start
    before, after = [*map(_text, old)], [*map(_text, new)]
    for row in shown:
        places = [number for number, text in enumerate(after) if text and text == before[row]]
        which = before[:row].count(before[row])
        if which < len(places):
            return max(places[which] - (row - shown.start), 0)
    return shown.start


def _text(row: str) -> str:
    return strip_sequences(row).strip()
