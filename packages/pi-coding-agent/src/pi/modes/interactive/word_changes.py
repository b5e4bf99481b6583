"""Differences of words between two lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

LONGEST = 500
"""Line length above which words are not compared."""
MIN_ALIKE = 0.4
"""Minimum similarity of two lines for a word-level diff."""
MAX_PAIRS = 40
"""Changed lines in one place above which words are not compared."""
MAX_COMPARED = 150
"""Pairs of lines that are compared if one side has more lines than the other."""

_WORD = re.compile(r"\w+|\s+|.")


class WordChange(NamedTuple):
    """A part of a line, and whether it differs."""

    text: str
    differs: bool


def changed_words(old: str, new: str) -> tuple[list[WordChange], list[WordChange]]:
    """Split both lines; if they have little in common, each is one part without differences."""
    before, after = _WORD.findall(old[: LONGEST + 1]), _WORD.findall(new[: LONGEST + 1])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if max(len(old), len(new)) > LONGEST or matcher.ratio() < MIN_ALIKE:
        return [WordChange(old, differs=False)], [WordChange(new, differs=False)]
    steps = matcher.get_opcodes()
    return (
        list(_merge_spans(before, [(step[1], step[2], step[0] != "equal") for step in steps])),
        list(_merge_spans(after, [(step[3], step[4], step[0] != "equal") for step in steps])),
    )


def _merge_spans(
    words: Sequence[str], spans: Sequence[tuple[int, int, bool]]
) -> Iterator[WordChange]:
    for start, end, differs in spans:
        if start < end:
            yield WordChange("".join(words[start:end]), differs)


def pair_lines(removed: Sequence[str], added: Sequence[str]) -> list[tuple[int, int]]:
    """Return index pairs of a removed line and the added line that replaces it, in order.

    Other lines have no counterpart.
    """
    if len(removed) == len(added) <= MAX_PAIRS:
        return [(number, number) for number in range(len(removed))]
    if len(removed) * len(added) > MAX_COMPARED:
        return []
    # The best alignment of the lines from each pair on, as in a diff of the lines themselves.
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}
    for old in range(len(removed), -1, -1):
        for new in range(len(added), -1, -1):
            if old == len(removed) or new == len(added):
                best[old, new] = (0.0, [])
                continue
            alignment = max(
                best[old + 1, new], best[old, new + 1], key=lambda candidate: candidate[0]
            )
            alike = _likeness(removed[old], added[new])
            score, pairs = best[old + 1, new + 1]
            if alike >= MIN_ALIKE and score + alike > alignment[0]:
                alignment = (score + alike, [(old, new), *pairs])
            best[old, new] = alignment
    return best[0, 0][1]


def _likeness(old: str, new: str) -> float:
    old, new = old.strip(), new.strip()
    if not old or not new or max(len(old), len(new)) > LONGEST:
        return 0.0
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= MIN_ALIKE else 0.0
