"""The display for screen readers: plain lines, each written once, and no redrawing.

Finished rows of the conversation are appended as they become final. What stands below them
(notices, dialogs, suggestions) is written when it changes, without borders. The row with the cursor
is the last line of the terminal: typed characters are echoed there, and it is edited with
backspaces only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from pi.tui.component import CURSOR_MARKER, Component
from pi.tui.containers import Container
from pi.tui.display import Leave, NewPage
from pi.tui.input.reports import MouseReport
from pi.tui.overlays import OverlayHandle
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import Layer
from pi.tui.screen.screen import SHOW_CURSOR, Repaint
from pi.tui.terminal import Size
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width

PROMPT = "> "
NEW_LINE = "\r\n"
_FREE_COLUMNS = len(PROMPT) + 1
"""Columns that components leave free, so that no line wraps and backspaces stay in their row."""

_DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff]+")
"""Borders, bars and spinners: a screen reader would read their names."""
_ARROW = "→ "


class PlainDisplay:
    """Writes lines; the only cursor movement is within the line that is being typed."""

    def __init__(self, size: Size) -> None:
        self.root = Container()
        self.synchronized = False
        self.show_cursor = True
        self._width = _usable(size)
        self._rows: list[str] = []
        self._final = 0
        """How many of the rows are final."""
        self._below = 0
        """The first row that never becomes part of the conversation."""
        self._printed: list[str] = []
        """The final rows that were written."""
        self._is_resized = False
        self._shown: list[str] = []
        """The lines below the conversation, as of the last frame."""
        self._typed, self._caret = "", 0
        """The line that is being typed, and the cursor in it."""
        self._has_prompt = False

    def opening(self) -> str:
        """Returns nothing: lines begin at the cursor."""
        return ""

    def closing(self, leave: Leave = "for good") -> str:
        """Ends the line."""
        had_prompt, self._has_prompt = self._has_prompt, False
        return NEW_LINE if had_prompt else ""

    def draw(self, changed: Collection[Component] | None) -> None:
        """Collects the rows."""
        self._rows = self.root.render(self._width)
        boundary = self.root.first_changing_row
        staying = self.root.staying_start
        self._below = len(self._rows) if staying is None else staying
        self._final = min(len(self._rows) if boundary is None else boundary, self._below)

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Returns the new lines and the changes of the line that is being typed."""
        lines = self._conversation()
        rows = [*self._rows[self._below :], *(line for layer in layers for line in layer.lines)]
        typed = next((row for row in reversed(rows) if CURSOR_MARKER in row), None)
        others = [row for row in rows if row is not typed]
        lines += self._announced(others)
        return self._written(lines, typed)

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Only later lines have the new width."""
        if (width := _usable(size)) != self._width:
            self._width = width
            self._is_resized = True
        return Repaint.CHANGES

    def acknowledge_frame(self, size: Size) -> None:
        """Does nothing: nothing is drawn again."""

    def resume(self, size: Size) -> Repaint:
        """Continues below what other programs have written."""
        self._has_prompt = False
        return self.resize(size)

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Does nothing: a changed conversation is written from its first change on."""
        return Repaint.CHANGES

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Does nothing: the terminal handles the mouse."""
        return None

    # The conversation and what stands below it ----------------------------------------------------

    def _conversation(self) -> list[str]:
        """Returns the rows that have become final, without empty ones in a row."""
        rows = self._rows[: self._final]
        before, self._printed = self._printed, list(rows)
        if self._is_resized:  # wrapped differently, but already written
            self._is_resized = False
            return []
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, rows)))  # noqa: B905
        return [line for row in rows[same:] if (line := _plain(row))]

    def _announced(self, rows: Sequence[str]) -> list[str]:
        """Returns the lines that are new, and the one that has become the selected one."""
        now = [line for row in rows if (line := _plain(row))]
        known = {line.removeprefix(_ARROW) for line in self._shown} | {self._typed}
        selected = {line for line in self._shown if line.startswith(_ARROW)}
        self._shown = now
        return [
            f"{line.removeprefix(_ARROW)} (selected)" if line.startswith(_ARROW) else line
            for line in now
            if (line not in selected if line.startswith(_ARROW) else line not in known)
        ]

    # The line that is being typed -----------------------------------------------------------------

    def _written(self, lines: Sequence[str], typed: str | None) -> str:
        out = self._above(lines) if lines else ""
        if typed is None:
            return out
        before, _, behind = typed.partition(CURSOR_MARKER)
        head = strip_sequences(before)
        text = (head + strip_sequences(behind)).rstrip()
        text = text.ljust(len(head))
        if not self._has_prompt:
            self._has_prompt, self._typed, self._caret = True, "", 0
            out += SHOW_CURSOR + PROMPT  # the negotiation of the terminal has hidden it
        return out + self._edited(text, len(head))

    def _above(self, lines: Sequence[str]) -> str:
        """Returns lines; an empty prompt is overwritten, one with text is left as it is."""
        start = ""
        if self._has_prompt:
            start = NEW_LINE if self._typed else "\r"
            self._has_prompt = False
        padded = [lines[0].ljust(len(PROMPT)), *lines[1:]]
        return start + "".join(f"{line}{NEW_LINE}" for line in padded)

    def _edited(self, text: str, caret: int) -> str:
        """Returns what turns the typed line into ``text``, with the cursor at ``caret``."""
        old, at = self._typed, self._caret
        self._typed, self._caret = text, caret
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, text)))  # noqa: B905
        out = ""
        if old != text:
            out += _moved(old, at, same)
            gone = max(visible_width(old[same:]) - visible_width(text[same:]), 0)
            out += text[same:] + " " * gone + "\b" * gone
            at = len(text)
        return out + _moved(text, at, caret)


def _moved(text: str, start: int, end: int) -> str:
    """Returns what moves the cursor within a line: backspaces, or the characters once more."""
    return text[start:end] if end >= start else "\b" * visible_width(text[end:start])


def _usable(size: Size) -> int:
    return max(size.columns - _FREE_COLUMNS, 1)


def _plain(row: str) -> str:
    """Returns the words of a row."""
    words = _DRAWN.sub(" ", strip_sequences(row.replace(CURSOR_MARKER, "")))
    return re.sub(r" {3,}", "  ", words).strip()
