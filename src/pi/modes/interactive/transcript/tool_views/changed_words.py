"""Which words of a changed line are others than before. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

LONGEST = 500
"""Characters of a line above which nobody looks at single words."""
LEAST_ALIKE = 0.4
"""How much two lines must have in common for their differences to mean something."""

_WORD = re.compile(r"\w+|\s+|.")


class Piece(NamedTuple):
    """A part of a line, and whether it differs."""

    text: str
    differs: bool


def changed_words(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Both lines in pieces; with little in common, each is one piece that does not differ."""
    before, after = _WORD.findall(old[: LONGEST + 1]), _WORD.findall(new[: LONGEST + 1])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if max(len(old), len(new)) > LONGEST or matcher.ratio() < LEAST_ALIKE:
        return [Piece(old, differs=False)], [Piece(new, differs=False)]
    steps = matcher.get_opcodes()
    return (
        list(_merged(before, [(step[1], step[2], step[0] != "equal") for step in steps])),
        list(_merged(after, [(step[3], step[4], step[0] != "equal") for step in steps])),
    )


def _merged(words: Sequence[str], spans: Sequence[tuple[int, int, bool]]) -> Iterator[Piece]:
    for start, end, differs in spans:
        if start < end:
            yield Piece("".join(words[start:end]), differs)
