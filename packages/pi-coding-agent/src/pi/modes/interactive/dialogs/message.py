"""The message of a dialog: wrapped, diffs as in the transcript, never cut without a remark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pi.base.terminal_text import one_line
from pi.modes.interactive.diffs import DiffLine, diff_rows, language_of, with_words
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.style import Paint
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

_BULLET = "• "
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
MAX_COMPARED = 2_000
"""Lines of a diff above which words are not compared."""


class MessageRow(NamedTuple):
    """One row of a message."""

    text: str
    distance: int = 0
    """Of an unchanged line in a diff: the lines to the next change."""


class MessageView:
    """The rows of a message in the rows that a dialog has for it.

    A message that does not fit shows its beginning and its end, because the end of a command may be
    the part that does harm. Unchanged lines of a diff are hidden before changes are. A key opens
    it: it can then be scrolled in the whole dialog.
    ``text`` is what is asked about; ``remark`` follows it and is muted.
    """

    def __init__(self, text: str, remark: str, theme: Theme, keymap: Keymap) -> None:
        self._text = text
        self._muted_text = remark
        self._theme = theme
        self._keymap = keymap
        self._rows: tuple[int, list[MessageRow]] = (0, [])
        """The width for which the rows were drawn, and the rows."""
        self._first = 0
        """The first visible row while it is open."""
        self._height = 1
        self.is_open = False
        """Whether it has the whole dialog."""
        self.is_cut = False
        """Whether rows were hidden when it was last drawn."""

    def invalidate(self) -> None:
        """Draw the rows again: the colours have changed."""
        self._rows = (0, [])

    def prepend(self, text: str) -> None:
        """Add a paragraph at the top."""
        self._text = "\n\n".join(part for part in (text, self._text) if part)
        self.invalidate()

    def rows(self, width: int) -> list[MessageRow]:
        """Return all rows."""
        if self._rows[0] != width:
            parts = ((self._text, "text"), (self._muted_text, "muted"))
            rows = [
                row
                for text, token in parts
                if text
                for row in _message_rows(text, self._theme, self._theme.paint(token), width)
            ]
            self._rows = (width, rows)
        return self._rows[1]

    def folded_rows(self, width: int, height: int) -> list[str]:
        """Return the rows, at most ``height``: the first and last ones with their number between.

        Without any row for it, the message is not shown, and counts as cut.
        """
        rows = self.rows(width)
        self.is_cut = len(rows) > height
        if not self.is_cut:
            return [row.text for row in rows]
        if height < 1:
            return []
        visible_rows = _without_context(rows, height - 1)
        head, tail = visible_rows, visible_rows[:0]
        if len(visible_rows) >= height:
            count = height // 2  # the end has the odd row
            head, tail = (
                visible_rows[: height - 1 - count],
                visible_rows[len(visible_rows) - count :],
            )
        hidden = len(rows) - len(head) - len(tail)
        noun = "line" if hidden == 1 else "lines"
        remark = self._remark(f"… {hidden} hidden {noun}{self._key_hint('shows all')}", width)
        return [*(row.text for row in head), remark, *(row.text for row in tail)]

    def open_rows(self, width: int, height: int) -> list[str]:
        """Return the visible rows of the open message, and a row with the position."""
        rows = self.rows(width)
        self._height = max(height - 1, 1)
        self._first = max(min(self._first, len(rows) - self._height), 0)
        window = rows[self._first : self._first + self._height]
        end = self._first + len(window)
        position = f"lines {self._first + 1}-{end} of {len(rows)}"
        keys = f" · PageUp PageDown scroll{self._key_hint('back')}"
        return [*(row.text for row in window), self._remark(f"{position}{keys}", width)]

    def handle_input(self, data: str) -> bool:
        """Open, scroll or close; returns whether the key was for the message."""
        actions = self._keymap.actions(data)
        if "app.tools.expand" in actions:
            if not self.is_open and not self.is_cut:
                return False
            self.is_open = not self.is_open
            return True
        if not self.is_open:
            if self.is_cut and "tui.select.pageDown" in actions:
                self.is_open = True
                return True
            return False
        match next((step for action, step in _steps(self._height) if action in actions), None):
            case None if {"tui.select.cancel", "tui.select.confirm"} & {*actions}:
                self.is_open = False
            case int(step):
                self._first += step
            case _:
                pass  # an answer that cannot be seen is not given
        return True

    def _key_hint(self, label: str) -> str:
        keys = self._keymap.keys("app.tools.expand")
        return f" · {shown_key(keys[0])} {label}" if keys else ""

    def _remark(self, text: str, width: int) -> str:
        return self._theme.paint("warning")(truncate_to_width(text, width, "…"))


def _steps(height: int) -> tuple[tuple[str, int], ...]:
    """The rows by which an action scrolls."""
    far = 10**9
    return (
        ("tui.select.up", -1),
        ("tui.select.down", 1),
        ("tui.select.pageUp", -max(height - 1, 1)),
        ("tui.select.pageDown", max(height - 1, 1)),
        ("tui.altScreen.top", -far),
        ("tui.altScreen.bottom", far),
    )


def shown_key(key: str) -> str:
    """A key as displayed: ``Ctrl+S``, ``Enter``, ``PageUp``."""
    return "+".join(part[:1].upper() + part[1:] for part in key.split("+")) if key else ""


# Rows ---------------------------------------------------------------------------------------------


def _message_rows(text: str, theme: Theme, paint: Paint, width: int) -> Iterator[MessageRow]:
    """Wrap a message; a unified diff has the numbers and colours that the transcript uses."""
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        path, diff, end = _read_unified(lines, index)
        if end == index:
            yield from (MessageRow(paint(row)) for row in _wrap_line(lines[index], width))
            index += 1
            continue
        if path:
            painted = map(theme.paint("accent"), wrap_text(one_line(path), width))
            yield from map(MessageRow, painted)
        compared = with_words(diff) if len(diff) <= MAX_COMPARED else diff
        drawn = diff_rows(compared, theme, width, language=language_of(path))
        for rows, distance in zip(drawn, _distances(diff), strict=True):
            yield from (MessageRow(row, distance) for row in rows)
        index = end


def _without_context(rows: Sequence[MessageRow], height: int) -> Sequence[MessageRow]:
    """Return the rows with as much context of changes as fits; without any, if nothing fits."""
    farthest = max(row.distance for row in rows)
    for distance in range(farthest - 1, 0, -1):
        nearer = [row for row in rows if row.distance <= distance]
        if len(nearer) <= height:
            return nearer
    return [row for row in rows if not row.distance]


def _distances(diff: Sequence[DiffLine]) -> list[int]:
    """Return for each line how far the next change is; 0 for changes and gaps."""
    far = len(diff)
    distances = [far if line.sign == " " else 0 for line in diff]
    for indices in (range(far), range(far - 1, -1, -1)):
        count = far
        for index in indices:
            sign = diff[index].sign
            count = count + 1 if sign == " " else 0 if sign else far
            distances[index] = min(distances[index], count)
    return distances


def _read_unified(lines: Sequence[str], start: int) -> tuple[str, list[DiffLine], int]:
    """Return the path, the lines and the end of the unified diff at ``start``.

    The end is ``start`` if there is none. Only a diff whose header, if any, has one path, and whose
    hunks have the lines that they announce, counts as one: nothing in it may disappear.
    """
    nothing: tuple[str, list[DiffLine], int] = ("", [], start)
    path, index = "", start
    if lines[start].startswith("--- "):
        path, index = lines[start].removeprefix("--- "), start + 2
        if lines[start + 1 : index] != [f"+++ {path}"]:
            return nothing
    diff: list[DiffLine] = []
    while index < len(lines) and (hunk := _HUNK.fullmatch(lines[index])):
        hunk_lines, index = _read_hunk(lines, index + 1, hunk)
        if hunk_lines is None:
            return nothing
        diff += [DiffLine("", None, "⋯"), *hunk_lines] if diff else hunk_lines
    return (path, diff, index) if diff else nothing


def _read_hunk(
    lines: Sequence[str], index: int, hunk: re.Match[str]
) -> tuple[list[DiffLine] | None, int]:
    """Return the lines of a hunk and its end; ``None`` if it has others than it announces."""
    old, new = int(hunk[1] or 1), int(hunk[3] or 1)
    number = int(hunk[2])
    diff: list[DiffLine] = []
    while old > 0 or new > 0:
        line = lines[index] if index < len(lines) else ""
        match line[:1]:
            case "-" if old > 0:
                old -= 1
                diff.append(DiffLine("-", None, line[1:]))
            case "+" if new > 0:
                new -= 1
                diff.append(DiffLine("+", number, line[1:]))
                number += 1
            case " " if old > 0 and new > 0:
                old, new = old - 1, new - 1
                diff.append(DiffLine(" ", number, line[1:]))
                number += 1
            case _:
                return None, index
        index += 1
    return diff, index


def _wrap_line(line: str, width: int) -> list[str]:
    """Wrap a line; the rows of a list item begin below its text."""
    bullet = _BULLET if line.startswith(_BULLET) else ""
    if bullet and visible_width(line) > width:
        line = re.sub(" {2,}", "  ", line)  # there is no room for columns
    first, *others = wrap_text(line.removeprefix(bullet), max(width - len(bullet), 1))
    return [bullet + first, *(" " * len(bullet) + row for row in others)]
