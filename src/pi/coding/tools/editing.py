"""Several replacements in one text, all of them or none. Pure."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from pi.agent.tool import ToolFailed
from pi.base.records import Meta, Record
from pi.coding.tools.matching import Passages, Span

NEAR = 0.6
"""How similar a text must be to be shown as the one that was probably meant."""
MOST_COMPARED = 50
"""Lines that are compared with one that was not found."""
LONGEST_COMPARED = 500
"""Characters of them."""
MOST_SHOWN = 10
_WORD = r"\w+"


class Edit(Record):
    """One replacement."""

    old_text: Annotated[
        str,
        Meta(description="Text to replace: exactly as in the file, and found there only once"),
    ]
    new_text: Annotated[str, Meta(description="Text to put in its place")]


class _Placed(NamedTuple):
    span: Span
    edit: int
    new_text: str


def apply_edits(text: str, edits: Sequence[Edit], *, path: str, line_end: str) -> str:
    """``text`` with every edit made; each is matched against the text as it was.

    Only the matched passages change: all other bytes, line ends too, stay. ``ToolFailed`` says
    what the model should mend.
    """
    if not edits:
        raise ToolFailed("Edit tool input is invalid. edits must contain at least one replacement.")
    passages = Passages(text)
    placed = sorted(
        _Placed(_place(passages, edits, index, path), index, edit.new_text)
        for index, edit in enumerate(edits)
    )
    for one, other in pairwise(placed):
        if other.span.start < one.span.end:
            first, second = sorted((one.edit, other.edit))
            raise ToolFailed(
                f"edits[{first}] and edits[{second}] overlap in {path}. "
                "Merge them into one edit or target disjoint regions."
            )
    changed = _replaced(text, placed, line_end)
    if changed == text:
        raise ToolFailed(_unchanged(path, several=len(edits) > 1))
    return changed


def _place(passages: Passages, edits: Sequence[Edit], index: int, path: str) -> Span:
    old = edits[index].old_text
    several = len(edits) > 1
    if not old:
        if not passages.text and not several:
            return Span(0, 0)  # an empty file has no text that could be named
        name = f"edits[{index}].oldText" if several else "oldText"
        raise ToolFailed(f"{name} must not be empty in {path}.")
    found = passages.find(old)
    if not found:
        what = (
            f"Could not find edits[{index}] in" if several else "Could not find the exact text in"
        )
        name = "oldText" if several else "old text"
        raise ToolFailed(
            f"{what} {path}. The {name} must match exactly including all whitespace and newlines."
            + _nearest(passages.text, old)
        )
    if len(found) > 1:
        what = f"edits[{index}]" if several else "the text"
        each = "Each oldText must be unique" if several else "The text must be unique"
        raise ToolFailed(
            f"Found {len(found)} occurrences of {what} in {path}. {each}. "
            "Please provide more context to make it unique."
        )
    return found[0]


def _replaced(text: str, placed: Sequence[_Placed], line_end: str) -> str:
    pieces = []
    at = 0
    for each in placed:
        new = each.new_text.replace("\r\n", "\n").replace("\n", line_end)
        pieces += [text[at : each.span.start], new]
        at = each.span.end
    return "".join([*pieces, text[at:]])


def _unchanged(path: str, *, several: bool) -> str:
    what = "replacements" if several else "replacement"
    return (
        f"No changes made to {path}. The {what} produced identical content. This might indicate "
        "an issue with special characters or the text not existing as expected."
    )


def _nearest(text: str, old: str) -> str:
    """The passage that looks most like the one that was not found, if any does."""
    lines, wanted = text.split("\n"), old.strip("\r\n").split("\n")
    before, key = max(enumerate(wanted), key=lambda line: len(line[1]))
    words = set(re.findall(_WORD, key))
    # Comparing is slow and counting words is not: only the best by words are compared.
    candidates = heapq.nlargest(
        MOST_COMPARED,
        range(len(lines)),
        key=lambda n: len(words & set(re.findall(_WORD, lines[n]))),
    )
    import difflib  # 5 ms, and most edits succeed

    matcher = difflib.SequenceMatcher(b=key.strip()[:LONGEST_COMPARED], autojunk=False)
    best, place = 0.0, 0
    for number in candidates if words else ():
        matcher.set_seq1(lines[number].strip()[:LONGEST_COMPARED])
        if matcher.real_quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, number
    if best < NEAR:
        return ""
    first = max(place - before, 0)
    shown = "\n".join(lines[first : first + min(len(wanted), MOST_SHOWN)])
    return f"\n\nThe most similar text is at line {first + 1}:\n{shown}"
