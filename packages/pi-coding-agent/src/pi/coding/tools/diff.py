"""Diffs of an edited file: numbered lines for users, unified patches for programs. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

CONTEXT = 4
MAX_COMPARISONS = 4_000_000
"""Maximum pairs of lines to compare. Larger texts are split at lines that occur once in each."""

MAX_LINE_CHARACTERS = 10_000
"""Maximum characters of a displayed line."""
MAX_DIFF_CHARACTERS = 1024 * 1024
"""Maximum size of a diff or patch: a result is stored in the session and sent as an event."""


class Change(NamedTuple):
    """Replaced lines: half-open ranges, counted from 0."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Diff:
    """Two texts and the lines in which they differ."""

    def __init__(self, old: str, new: str) -> None:
        self._old = _split_lines(old)
        self._new = _split_lines(new)
        self.changes = _find_changes(self._old, self._new)

    @property
    def first_changed_line(self) -> int | None:
        """Number of a line in the new text, counted from 1; ``None`` if the texts are equal."""
        return self.changes[0].new_start + 1 if self.changes else None

    def display(self) -> str:
        """Return signed lines. Removed and kept lines have old numbers, added lines new ones.

        Long lines are truncated, and so is a display of more than ``MAX_DIFF_CHARACTERS``.
        """
        remaining = MAX_DIFF_CHARACTERS
        width = len(str(max(len(self._old), len(self._new))))
        out: list[str] = []
        position = 0
        for hunk in _group_hunks(self.changes, len(self._old)):
            if hunk.old_start > position:
                out.append(f" {'':{width}} ...")
            for sign, number, line in self._signed_lines(hunk):
                truncated = line.removesuffix("\n")
                if len(truncated) > MAX_LINE_CHARACTERS:
                    truncated = f"{truncated[:MAX_LINE_CHARACTERS]}…"
                remaining -= len(truncated)
                if remaining < 0:
                    return "\n".join((*out, f" {'':{width}} ..."))
                out.append(f"{sign}{number:>{width}} {truncated}")
            position = hunk.old_end
        if out and position < len(self._old):
            out.append(f" {'':{width}} ...")
        return "\n".join(out)

    def patch(self, path: str) -> str:
        """Return a unified diff for ``patch``."""
        out = [f"--- {path}\n", f"+++ {path}\n"]
        for hunk in _group_hunks(self.changes, len(self._old)):
            first, last = hunk.changes[0], hunk.changes[-1]
            new_start = first.new_start - (first.old_start - hunk.old_start)
            new_end = last.new_end + (hunk.old_end - last.old_end)
            old_size, new_size = hunk.old_end - hunk.old_start, new_end - new_start
            old_from = hunk.old_start + (old_size > 0)
            new_from = new_start + (new_size > 0)
            out.append(f"@@ -{old_from},{old_size} +{new_from},{new_size} @@\n")
            for sign, _, line in self._signed_lines(hunk):
                is_complete = line.endswith("\n")
                out.append(f"{sign}{line}" if is_complete else f"{sign}{line}\n{NO_LINE_END}\n")
        return "".join(out)

    def _signed_lines(self, hunk: Hunk) -> list[tuple[str, int, str]]:
        out: list[tuple[str, int, str]] = []
        position = hunk.old_start
        for change in hunk.changes:
            out += [(" ", n + 1, self._old[n]) for n in range(position, change.old_start)]
            out += [("-", n + 1, self._old[n]) for n in range(change.old_start, change.old_end)]
            out += [("+", n + 1, self._new[n]) for n in range(change.new_start, change.new_end)]
            position = change.old_end
        out += [(" ", n + 1, self._old[n]) for n in range(position, hunk.old_end)]
        return out


NO_LINE_END = "\\ No newline at end of file"


class Hunk(NamedTuple):
    """Neighbouring changes with their context lines."""

    old_start: int
    old_end: int
    changes: list[Change]


def _split_lines(text: str) -> list[str]:
    """Split into lines that keep their line feed; the last one may have none."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _find_changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return all differences. A passage that is too large to compare counts as one change."""
    changes: list[Change] = []
    remaining = MAX_COMPARISONS
    for passage in _find_passages(old, new):
        work = _comparison_count(passage)
        if work > remaining:
            changes.append(passage)
        else:
            remaining -= work
            changes += _compare(old, new, passage)
    return changes


def _find_passages(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return the ranges that may differ, without the common beginning and end.

    Long texts are also split at anchors.
    """
    passage = _narrow(old, new, Change(0, len(old), 0, len(new)))
    if _comparison_count(passage) <= MAX_COMPARISONS:
        return [passage]
    passages: list[Change] = []
    start = Anchor(passage.old_start, passage.new_start)
    for anchor in (*_find_anchors(old, new, passage), Anchor(passage.old_end, passage.new_end)):
        passages.append(_narrow(old, new, Change(start.old, anchor.old, start.new, anchor.new)))
        start = Anchor(anchor.old + 1, anchor.new + 1)
    return passages


def _comparison_count(passage: Change) -> int:
    return (passage.old_end - passage.old_start) * (passage.new_end - passage.new_start)


def _narrow(old: Sequence[str], new: Sequence[str], passage: Change) -> Change:
    """Return a passage without its common beginning and end."""
    a, b, c, d = passage
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return Change(a, b, c, d)


def _compare(old: Sequence[str], new: Sequence[str], passage: Change) -> list[Change]:
    a, b, c, d = passage
    if a == b or c == d:
        return [passage] if a < b or c < d else []
    import difflib  # lazy: takes 5 ms, needed with the first edit

    codes = difflib.SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes()
    return [Change(i + a, j + a, k + c, m + c) for tag, i, j, k, m in codes if tag != "equal"]


class Anchor(NamedTuple):
    """Position of a line that occurs exactly once in each text."""

    old: int
    new: int


def _find_anchors(old: Sequence[str], new: Sequence[str], passage: Change) -> list[Anchor]:
    """Return the longest sequence of anchors with the same order in both texts."""
    positions = _unique_lines(new, passage.new_start, passage.new_end)
    last: list[int] = []  # for each length, where the best sequence ends in ``new``
    ends: list[tuple[Anchor, int]] = []  # an anchor, and the index of its predecessor
    best: list[int] = []
    for line, old_position in _unique_lines(old, passage.old_start, passage.old_end).items():
        if line not in positions:
            continue
        length = bisect_left(last, positions[line])
        ends.append((Anchor(old_position, positions[line]), best[length - 1] if length else -1))
        last[length : length + 1] = [positions[line]]
        best[length : length + 1] = [len(ends) - 1]
    row: list[Anchor] = []
    end = best[-1] if best else -1
    while end >= 0:
        anchor, end = ends[end]
        row.append(anchor)
    return row[::-1]


def _unique_lines(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    """Return the lines that occur once between ``start`` and ``end``, with their positions."""
    part = lines[start:end]
    count = Counter(part)
    return {line: number for number, line in enumerate(part, start) if count[line] == 1}


def _group_hunks(changes: Sequence[Change], old_size: int) -> list[Hunk]:
    hunks: list[Hunk] = []
    for change in changes:
        start = max(change.old_start - CONTEXT, 0)
        end = min(change.old_end + CONTEXT, old_size)
        if hunks and start <= hunks[-1].old_end:
            last = hunks[-1]
            last.changes.append(change)  # in place: a copy for each of 5,000 changes takes 100 ms
            hunks[-1] = Hunk(last.old_start, end, last.changes)
        else:
            hunks.append(Hunk(start, end, [change]))
    return hunks
