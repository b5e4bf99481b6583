"""Random edits: the four variants of the tool produce the same file."""

from __future__ import annotations

import difflib
import random
from typing import NamedTuple

import pytest

from pi.batteries.edit_variants.hunks import locate_hunks
from pi.batteries.edit_variants.lines import HashEdit, TextLines, line_hash, locate_hashes
from pi.batteries.edit_variants.patches import parse_codex, parse_unified
from pi.coding.files.text import decode
from pi.coding.tools.edit import Edit, Locate, edit_bytes, locate_edits

WORDS = (
    "alpha",
    "beta",
    "  indented",
    "",
    "}",
    "é ü 😀",
    "\ttab",
    "x = 1",
    "-- sql",
    "++ plus",
    "@",
)


class Change(NamedTuple):
    """Lines ``first`` to before ``last`` become ``new``."""

    first: int
    last: int
    new: list[str]


class Sample(NamedTuple):
    """A file, and changes of it."""

    old: list[str]
    changes: list[Change]
    line_end: str
    final: bool

    def text(self, lines: list[str]) -> str:
        return self.line_end.join(lines) + (self.line_end if self.final and lines else "")

    @property
    def new(self) -> list[str]:
        lines = [*self.old]
        for change in reversed(self.changes):
            lines[change.first : change.last] = change.new
        return lines


def sample(number: int) -> Sample:
    dice = random.Random(number)
    # Numbers make most lines unique, as the lines of real files are.
    old = [
        dice.choice(WORDS) + (f" {n}" if dice.random() < 0.7 else "")
        for n in range(dice.randint(2, 60))
    ]
    changes: list[Change] = []
    at = 0
    while at < len(old) and len(changes) < dice.randint(1, 4):
        first = dice.randint(at, len(old) - 1)
        last = min(first + dice.randint(0, 3), len(old))
        new = [f"{dice.choice(WORDS)} new {dice.random()}" for _ in range(dice.randint(0, 3))]
        if old[first:last] == new or (not new and last - first == len(old)):
            continue
        changes.append(Change(first, last, new))
        at = last + 1
    old[-1] = old[-1] or "last"  # a file without a final newline has text in its last line
    final = dice.random() < 0.8
    return Sample(old, changes, dice.choice(["\n", "\r\n"]), final)


def by_replace(made: Sample) -> Locate:
    text = made.text(made.old).replace("\r\n", "\n")
    lines = [f"{line}\n" for line in made.old]
    if not made.final:
        lines[-1] = made.old[-1]
    edits = []
    position = 0
    bounds = []
    for line in lines:
        bounds.append(position)
        position += len(line)
    bounds.append(position)
    # One edit from the first to the last change, extended until it is unique.
    first, last = made.changes[0].first, made.changes[-1].last
    low, high = first, last
    while True:
        old = text[bounds[low] : bounds[high]]
        if old and text.count(old) == 1 and (low == 0 or high == len(lines) or old.strip()):
            break
        low, high = max(low - 1, 0), min(high + 1, len(lines))
    shift = len(made.new) - len(made.old)
    new_lines = made.new[low : high + shift]
    new = "".join(f"{line}\n" for line in new_lines)
    if high == len(lines) and not made.final:
        new = new.removesuffix("\n")
        if not new_lines and low > 0:
            low -= 1
            old = text[bounds[low] : bounds[high]]
            new = made.old[low]
    edits.append(Edit(old_text=old, new_text=new))
    return lambda text, form: locate_edits(text, edits, "f")


def by_patch(made: Sample, context: int) -> Locate:
    old = [f"{line}\n" for line in made.old]
    new = [f"{line}\n" for line in made.new]
    if not made.final:
        old[-1] = old[-1].removesuffix("\n")
        if new:
            new[-1] = new[-1].removesuffix("\n")
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, "a/f", "b/f", n=context)
    ]
    (patch,) = parse_unified("".join(lines))
    assert patch.path == "f"
    return lambda text, form: locate_hunks(text, patch.hunks, "f")


def by_apply_patch(made: Sample) -> Locate:
    # One hunk with the whole file: the format has no line numbers, and lines may repeat.
    matcher = difflib.SequenceMatcher(a=made.old, b=made.new, autojunk=False)
    body = []
    for _, a, b, c, d in matcher.get_opcodes():
        same = made.old[a:b] == made.new[c:d]
        body += [f" {line}" for line in made.old[a:b]] if same else []
        body += [] if same else [f"-{line}" for line in made.old[a:b]]
        body += [] if same else [f"+{line}" for line in made.new[c:d]]
    text = "\n".join(["*** Begin Patch", "*** Update File: f", "@@", *body, "*** End Patch"])
    (patch,) = parse_codex(text)
    return lambda text, form: locate_hunks(text, patch.hunks, "f")


def by_hashes(made: Sample) -> Locate:
    def anchor(number: int) -> str:
        return f"{number + 1}:{line_hash(made.old[number])}"

    edits = []
    for first, last, new in made.changes:
        text = "".join(f"{line}\n" for line in new)
        if first == last:
            edits.append(HashEdit(start=anchor(first), text=text, op="insert_before"))
        else:
            edits.append(HashEdit(start=anchor(first), end=anchor(last - 1), text=text))
    return lambda text, form: locate_hashes(text, edits, "f")


def check(number: int) -> None:
    made = sample(number)
    if made.new == made.old:
        return
    data = made.text(made.old).encode()
    expected = made.text(made.new).encode()
    if not made.new:
        return  # an empty file has no final newline in any variant
    for locate in (
        by_replace(made),
        by_patch(made, 3),
        by_patch(made, 0),
        by_apply_patch(made),
        by_hashes(made),
    ):
        assert edit_bytes(data, "f", locate).data == expected, number


def test_all_variants_produce_the_same_file_for_100_random_edits() -> None:
    for number in range(100):
        check(number)


@pytest.mark.full
def test_all_variants_produce_the_same_file_for_2000_random_edits() -> None:
    for number in range(2000):
        check(number)


def test_a_text_is_split_into_its_original_lines() -> None:
    for number in range(50):
        made = sample(number)
        text, _ = decode(made.text(made.old).encode())
        assert TextLines(text).contents == made.old
