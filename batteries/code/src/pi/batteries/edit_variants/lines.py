"""Lines of a text: changes of whole lines, and lines addressed by number and content hash. Pure.

An anchor such as ``12:a3f`` is the number of a line and the hash of its content.
"""

from __future__ import annotations

import re
import string
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from pi.coding.tools.edit import Replacement
from pi.extension import Meta, Record, ToolFailed

MARK = "|"
"""Separator between the anchor and the line."""
CONTEXT = 2
"""Current lines that are shown above and below a stale one."""
MAX_FRESH = 60
"""Maximum of current lines that an error message shows."""
_DIGITS = string.digits + string.ascii_lowercase
_ANCHOR = re.compile(r"\s*(\d+)(?::([0-9a-z]{3}))?(?:\|.*)?\s*", re.DOTALL)
_PREFIX = re.compile(r"\d+:[0-9a-z]{3}\|")
_HEADER = re.compile(r"\[[^\]\n]+#[0-9A-F]{4}\]\n")


class LineEdit(NamedTuple):
    """Lines ``first`` to before ``last``, counted from 0, and the lines that replace them."""

    first: int
    last: int
    new: tuple[str, ...]


class TextLines:
    """A text as lines without their ends; ``\\r\\n`` and ``\\n`` end a line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        newline = text.find("\n")
        while newline >= 0:
            self._starts.append(newline + 1)
            newline = text.find("\n", newline + 1)
        self.has_final_newline = self._starts[-1] == len(text)
        """True for an empty text as well, so that new lines get an end."""
        if self.has_final_newline:
            self._starts.pop()
        ends = [*self._starts[1:], len(text)]
        self.contents = [
            text[start:end].removesuffix("\n").removesuffix("\r")
            for start, end in zip(self._starts, ends, strict=False)
        ]

    def replacements(
        self, edits: Iterable[LineEdit], *, final_newline: bool | None = None
    ) -> list[Replacement]:
        """The edits as replacements. The text keeps its final newline, or its lack of one.

        ``final_newline`` changes that, if an edit reaches the end of the text.
        """
        end_line = self.has_final_newline if final_newline is None else final_newline
        return [self._replacement(edit, end_line=end_line) for edit in _merged(edits)]

    def _replacement(self, edit: LineEdit, *, end_line: bool) -> Replacement:
        count = len(self.contents)
        start, end = self._start(edit.first), self._start(edit.last)
        new = "".join(f"{line}\n" for line in edit.new)
        if edit.last < count:
            return Replacement(start, end, new)
        if edit.first == count and not self.has_final_newline:
            new = f"\n{new}"  # the last line needs an end before a line can follow
        if end_line:
            return Replacement(start, end, new)
        if edit.new:
            return Replacement(start, end, new.removesuffix("\n"))
        # The line before becomes the last one and loses its end.
        before = self._text[:start].removesuffix("\n").removesuffix("\r")
        return Replacement(len(before), end, "")

    def _start(self, number: int) -> int:
        return self._starts[number] if number < len(self.contents) else len(self._text)


def _merged(edits: Iterable[LineEdit]) -> Sequence[LineEdit]:
    """The edits in order; edits of adjacent lines are merged."""
    merged: list[LineEdit] = []
    for edit in sorted(edits, key=lambda edit: (edit.first, edit.last)):
        if merged and merged[-1].last == edit.first:
            last = merged.pop()
            edit = LineEdit(last.first, edit.last, last.new + edit.new)
        merged.append(edit)
    return merged


class HashEdit(Record):
    """One change of lines."""

    start: Annotated[
        str,
        Meta(description='Anchor of the first line as read shows it, e.g. "12:a3f"; or "end"'),
    ]
    text: Annotated[str, Meta(description='New lines; "" with op "replace" deletes')]
    end: Annotated[str, Meta(description="Anchor of the last line; the first one without it")] = ""
    op: Annotated[
        Literal["replace", "insert_before", "insert_after"],
        Meta(description="What to do with the lines from start to end"),
    ] = "replace"


def line_hash(line: str) -> str:
    """Three characters for the content of a line; trailing spaces are ignored."""
    number = zlib.crc32(line.strip("\ufeff").rstrip().encode("utf-8", "surrogatepass"))
    first, rest = divmod(number % 36**3, 36**2)
    second, third = divmod(rest, 36)
    return _DIGITS[first] + _DIGITS[second] + _DIGITS[third]


def anchored(lines: Iterable[str], first: int) -> list[str]:
    """Lines with their anchors; the first has the number ``first``."""
    return [f"{number}:{line_hash(line)}{MARK}{line}" for number, line in enumerate(lines, first)]


def file_tag(text: str) -> str:
    """Four characters for the content of a whole file."""
    return f"{zlib.crc32(text.replace(chr(13), '').encode('utf-8', 'surrogatepass')) & 0xFFFF:04X}"


def header(path: str, text: str) -> str:
    """The line that names a file and its current content."""
    return f"[{path}#{file_tag(text)}]"


def without_anchors(text: str) -> str:
    """A text without the header and anchors of ``read``; unchanged if it has none."""
    body = _HEADER.sub("", text, count=1) if _HEADER.match(text) else text
    lines = body.split("\n")
    filled = [line for line in lines if line.strip()]
    if filled and all(_PREFIX.match(line) for line in filled):
        return "\n".join(_PREFIX.sub("", line, count=1) for line in lines)
    return body


def locate_hashes(
    text: str, edits: Sequence[HashEdit], path: str, tag: str = ""
) -> list[Replacement]:
    """The replacements of all edits. Raises ``ToolFailed`` with current lines for stale anchors."""
    if not edits:
        raise ToolFailed("Edit tool input is invalid. edits must contain at least one change.")
    lines = TextLines(text)
    anchors = _Anchors(lines.contents, path, trusts_numbers=bool(tag) and tag == file_tag(text))
    changes = [_change(edit, anchors) for edit in edits]
    anchors.raise_if_stale(has_tag=bool(tag))
    ordered = sorted(changes)
    for one, other in pairwise(ordered):
        if other.first < one.last or (one[:2] == other[:2] and one.first == one.last):
            raise ToolFailed(
                f"Two edits of {path} change line {other.first + 1}. Merge them into one."
            )
    return lines.replacements(changes)


def _change(edit: HashEdit, anchors: _Anchors) -> LineEdit:
    new = edit.text.replace("\r\n", "\n")
    new_lines = tuple(without_anchors(new).removesuffix("\n").split("\n")) if new else ()
    if edit.start.strip() == "end":
        return LineEdit(anchors.count, anchors.count, new_lines)
    first = anchors.line(edit.start)
    last = anchors.line(edit.end) if edit.end.strip() else first
    if last < first:
        raise ToolFailed(f"The end {edit.end!r} is above the start {edit.start!r}.")
    match edit.op:
        case "insert_before":
            return LineEdit(first, first, new_lines)
        case "insert_after":
            return LineEdit(last + 1, last + 1, new_lines)
        case _:
            return LineEdit(first, last + 1, new_lines)


class _Anchors:
    """Checks anchors against the lines of a file, and collects the stale ones."""

    def __init__(self, contents: Sequence[str], path: str, *, trusts_numbers: bool) -> None:
        self._contents = contents
        self._path = path
        self._trusts_numbers = trusts_numbers
        self._stale: dict[int, str] = {}
        self.count = len(contents)

    def line(self, anchor: str) -> int:
        """The line of an anchor, counted from 0; a stale one is noted for ``raise_if_stale``."""
        match = _ANCHOR.fullmatch(anchor)
        if match is None:
            raise ToolFailed(f'Invalid anchor {anchor!r}. Copy it from read, such as "12:a3f".')
        number, hashed = int(match[1]) - 1, match[2]
        fits = 0 <= number < self.count and (
            self._trusts_numbers if hashed is None else line_hash(self._contents[number]) == hashed
        )
        if not fits:
            self._stale[number] = anchor.strip().partition(MARK)[0]
        return number

    def raise_if_stale(self, *, has_tag: bool) -> None:
        """Raise ``ToolFailed`` with the current lines around every stale anchor."""
        if not self._stale:
            return
        names = ", ".join(self._stale.values())
        indexes = sorted(
            {
                index
                for number in self._stale
                for index in range(number - CONTEXT, number + CONTEXT + 1)
                if 0 <= index < self.count
            }
        )[:MAX_FRESH]
        fresh = [line for index in indexes for line in anchored([self._contents[index]], index + 1)]
        moved = [note for anchor in self._stale.values() if (note := self._moved(anchor))]
        why = "The file has changed" if has_tag else "The lines have changed, or never had them"
        text = f"Stale anchors in {self._path}: {names}. {why}. Nothing was changed."
        if not fresh:
            raise ToolFailed(f"{text} The file has {self.count} lines.")
        raise ToolFailed("\n".join([f"{text} The lines are now:", *fresh, *moved]))

    def _moved(self, anchor: str) -> str:
        """A note with the new number of a stale anchor's line; empty if it is not unique."""
        hashed = anchor.partition(":")[2]
        numbers = [n for n, line in enumerate(self._contents, 1) if line_hash(line) == hashed]
        return f"[{anchor} is now {numbers[0]}:{hashed}]" if len(numbers) == 1 else ""
