"""Hunks of a patch, and the search for their lines in a text. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from pi.batteries.edit_variants.lines import LineEdit, TextLines
from pi.coding.tools.edit import Replacement
from pi.extension import Record, ToolFailed

Sign = Literal[" ", "-", "+"]
MAX_SHOWN = 8
"""Maximum lines of the file that an error message shows where a hunk was expected."""
MAX_PLACES = 50
"""Maximum positions of one line that are compared to guess where a hunk belongs."""


class Hunk(Record):
    """Lines that are kept, removed and added."""

    lines: tuple[tuple[Sign, str], ...]
    start: int | None = None
    """The first old line, counted from 0, as the patch has it; ``None`` without line numbers."""
    headings: tuple[str, ...] = ()
    """Lines of the file above the hunk, such as ``class A``, from top to bottom."""
    at_end: bool = False
    """Whether it must match at the end of the file."""
    final_newline: bool | None = None
    """Whether the new file ends with a newline; ``None`` leaves that unchanged."""

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that the file must contain."""
        return tuple(text for sign, text in self.lines if sign != "+")


class FilePatch(Record):
    """The change of one file."""

    kind: Literal["update", "add", "delete"]
    path: str
    move_to: str = ""
    hunks: tuple[Hunk, ...] = ()
    content: str = ""
    """Content of a new file."""


def locate_hunks(text: str, hunks: Sequence[Hunk], path: str) -> list[Replacement]:
    """The replacements of all hunks. Raises ``ToolFailed`` for a hunk that is not found.

    Only removed and added lines are replaced: kept lines keep their bytes, even if they were found
    by ignoring spaces.
    """
    lines = TextLines(text)
    search = _Search(lines.contents)
    edits: list[LineEdit] = []
    final_newline: bool | None = None
    cursor = shift = 0
    for number, hunk in enumerate(hunks, 1):
        start = search.place(hunk, cursor, shift, f"hunk {number} of {len(hunks)}", path)
        if hunk.start is not None:
            shift = start - hunk.start
        edits += _edits(hunk, start)
        cursor = start + len(hunk.old)
        if hunk.final_newline is not None and cursor == len(lines.contents):
            final_newline = hunk.final_newline
    if final_newline is not None and final_newline != lines.has_final_newline:
        edits = _reaching_end(edits, lines.contents)
    return lines.replacements(edits, final_newline=final_newline)


def _edits(hunk: Hunk, index: int) -> list[LineEdit]:
    """One edit per run of removed and added lines."""
    edits: list[LineEdit] = []
    first, new = index, []
    for sign, line in hunk.lines:
        match sign:
            case "+":
                new.append(line)
            case "-":
                index += 1
            case _:
                if new or index > first:
                    edits.append(LineEdit(first, index, tuple(new)))
                index += 1
                first, new = index, []
    if new or index > first:
        edits.append(LineEdit(first, index, tuple(new)))
    return edits


def _reaching_end(edits: list[LineEdit], contents: Sequence[str]) -> list[LineEdit]:
    """The edits, with one that replaces the last line, so that its end can change."""
    count = len(contents)
    if any(edit.last == count for edit in edits) or not count:
        return edits
    return [*edits, LineEdit(count - 1, count, (contents[-1],))]


def _same(line: str) -> str:
    return line


def _look(line: str) -> str:
    """A line without leading and trailing spaces and without typographic variants."""
    folded = unicodedata.normalize("NFKC", line.strip())
    return folded.translate(_LOOKALIKES)


_LOOKALIKES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-"}
)
_FORMS: tuple[Callable[[str], str], ...] = (_same, str.rstrip, str.strip, _look)
"""Ways to compare lines, tried in this order: models change spaces and quotes."""


class _Search:
    """Finds sequences of lines in a text."""

    def __init__(self, contents: Sequence[str]) -> None:
        self._contents = contents
        self._indexes: dict[int, tuple[list[str], dict[str, list[int]]]] = {}

    def place(self, hunk: Hunk, cursor: int, shift: int, name: str, path: str) -> int:
        """The line, counted from 0, at which a hunk begins. Raises ``ToolFailed``."""
        for heading in hunk.headings:
            cursor = self._after_heading(heading, cursor, name, path)
        old = hunk.old
        if not old:
            return self._insertion(hunk, cursor, shift)
        for form in range(len(_FORMS)):
            starts = [start for start in self._find(old, form) if start >= cursor]
            if hunk.at_end:
                starts = [start for start in starts if start + len(old) == len(self._contents)]
            if starts:
                return self._chosen(starts, hunk, shift, name, path)
        raise ToolFailed(self._not_found(hunk, cursor, shift, name, path))

    def _chosen(self, starts: list[int], hunk: Hunk, shift: int, name: str, path: str) -> int:
        if hunk.start is not None:
            expected = hunk.start + shift
            return min(starts, key=lambda start: abs(start - expected))
        if len(starts) > 1 and not hunk.headings and not hunk.at_end:
            numbers = ", ".join(str(start + 1) for start in starts[:5])
            raise ToolFailed(
                f"Found {len(starts)} places for {name} in {path}: lines {numbers}."
                " Add more lines of context, or an @@ line with the function or class."
            )
        return starts[0]

    def _insertion(self, hunk: Hunk, cursor: int, shift: int) -> int:
        if hunk.headings:
            return cursor
        if hunk.start is None or hunk.at_end:
            return len(self._contents)
        return max(cursor, min(hunk.start + shift, len(self._contents)))

    def _after_heading(self, heading: str, cursor: int, name: str, path: str) -> int:
        for form in range(len(_FORMS)):
            for start in self._find((heading,), form):
                if start >= cursor:
                    return start + 1
        raise ToolFailed(f"Could not find {heading!r}, the @@ line of {name}, in {path}.")

    def _find(self, old: Sequence[str], form: int) -> list[int]:
        """All positions of ``old``, compared by ``_FORMS[form]``."""
        if form not in self._indexes:
            looks = [*map(_FORMS[form], self._contents)]
            positions: dict[str, list[int]] = {}
            for index, line in enumerate(looks):
                positions.setdefault(line, []).append(index)
            self._indexes[form] = looks, positions
        looks, positions = self._indexes[form]
        sought = [*map(_FORMS[form], old)]
        # For speed, only the positions of the rarest line are compared.
        rarest = min(range(len(sought)), key=lambda n: len(positions.get(sought[n], ())))
        starts = (index - rarest for index in positions.get(sought[rarest], ()))
        return [
            index for index in starts if index >= 0 and looks[index : index + len(sought)] == sought
        ]

    def _not_found(self, hunk: Hunk, cursor: int, shift: int, name: str, path: str) -> str:
        message = f"Could not find {name} in {path}. Nothing was changed."
        if any(self._find(hunk.old, form) for form in range(len(_FORMS))):
            return f"{message} Its lines are above the hunk before it; put hunks in order."
        start = self._nearest(hunk.old)
        if start is None:
            start = cursor if hunk.start is None else max(hunk.start + shift, 0)
        lines = self._contents[start : start + min(max(len(hunk.old), 1), MAX_SHOWN)]
        if not lines:
            return f"{message} The file has {len(self._contents)} lines."
        return f"{message} The file has at line {start + 1}:\n" + "\n".join(lines)

    def _nearest(self, old: Sequence[str]) -> int | None:
        """The position with most lines of a hunk; ``None`` if none of them is in the file."""
        form = len(_FORMS) - 1
        self._find(old, form)  # builds the index
        positions = self._indexes[form][1]
        votes: dict[int, int] = {}
        for number, line in enumerate(map(_FORMS[form], old)):
            # Capped, because lines such as ``}`` are everywhere.
            for start in positions.get(line, ())[:MAX_PLACES] if line else ():
                votes[max(start - number, 0)] = votes.get(max(start - number, 0), 0) + 1
        return max(votes, key=lambda start: (votes[start], -start)) if votes else None
