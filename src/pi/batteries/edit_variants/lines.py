"""The lines of a text, and changes of whole lines as replacements of characters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pi.extension import Replacement


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
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)
        self.has_final_newline = self._starts[-1] == len(text)
        """Also true for an empty text: new lines get an end."""
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
        return [self._replacement(each, end_line=end_line) for each in _merged(edits)]

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
    """The edits in order; those of adjacent lines are joined."""
    merged: list[LineEdit] = []
    for each in sorted(edits, key=lambda edit: (edit.first, edit.last)):
        if merged and merged[-1].last == each.first:
            last = merged.pop()
            each = LineEdit(last.first, each.last, last.new + each.new)
        merged.append(each)
    return merged
