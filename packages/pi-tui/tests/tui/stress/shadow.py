"""A second implementation of the render contract, independent of the screen.

It receives the drawn frames and computes what scrollback and screen must contain. Texts are
compared without escape sequences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wcwidth import iter_graphemes, wcswidth

from pi.tui.component import CURSOR_MARKER
from pi.tui.text.width import visible_width

_ESCAPES = re.compile(r"\x1b\[[0-9;:]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b_[^\x07\x1b]*(?:\x07|\x1b\\)")


@lru_cache(maxsize=20_000)
def plain(row: str) -> str:
    return _ESCAPES.sub("", row).rstrip()


class Drawn(NamedTuple):
    """One frame as drawn by the components."""

    rows: Sequence[str]
    live: int | None
    safe: int | None
    overlay: tuple[int, int, Sequence[str]] | None
    """Row, column and lines of an overlay."""

    @property
    def boundary(self) -> int:
        """The first row that may still change."""
        limits = (self.safe, self.live, len(self.rows))
        return next(limit for limit in limits if limit is not None)


class Shadow:
    """The expected scrollback and screen."""

    def __init__(self, before: Sequence[str]) -> None:
        self.above = list(before)
        """Earlier contents of the terminal, and outdated rows."""
        self.committed: list[str] = []
        self.window: list[str] = []
        self.caret: tuple[int, int] = (0, 0)
        self.height = 0
        self.last: list[str] = []
        """All rows of the last frame."""
        self.top = 0
        self.settled = 0
        """The number of committed rows that were final."""

    def tape(self) -> list[str]:
        """Returns all rows of scrollback and screen, without trailing blank ones."""
        rows = [*self.above, *self.window]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def edited(self) -> list[str]:
        """Returns rows that were changed in place after they became history; the old text stays."""
        return [new for old, new in zip(self.committed, self.last, strict=False) if old != new]

    def draw(self, drawn: Drawn, *, columns: int, wipe: bool) -> None:
        """Records a frame; ``wipe`` erases everything before it."""
        texts = [plain(row) for row in drawn.rows]
        boundary = drawn.boundary
        if wipe:
            self.above, self.committed = [], []
        else:
            self._notice_shift(texts)
        count = len(self.committed)
        if count and len(texts) <= count:
            top = max(0, len(texts) - self.height)
            del self.committed[min(boundary, top) :]
        else:
            top = max(count, len(texts) - self.height)
            if drawn.overlay is None or wipe:
                chunk = texts[count : max(count, min(boundary, top))]
                self.committed += chunk
                self.above += chunk
        self.last, self.top = texts, top
        self.settle(boundary)
        self.show(drawn, top, columns=columns)

    def settle(self, boundary: int) -> None:
        """Counts the committed rows above ``boundary`` as final, in addition to earlier ones."""
        count = len(self.committed)
        self.settled = max(min(self.settled, count), min(boundary, count))

    def lower(self, height: int) -> None:
        """Changes the height of a pane: rows above the cursor that no longer fit scroll out.

        They are history from then on. Rows that were not final may have to be written again.
        """
        self.height = height
        pushed = self.window[: max(0, self.caret[0] + 1 - height)]
        self.above += pushed
        if self.top == len(self.committed):
            self.committed += pushed

    def show(self, drawn: Drawn, top: int, *, columns: int) -> None:
        """Makes the frame's rows from ``top`` on the window."""
        rows = drawn.rows[top : top + self.height]
        self.window = self._covered(drawn, [plain(row) for row in rows] or [""])
        self.caret = (len(self.window) - 1, 0)
        for number, row in enumerate(rows):
            if CURSOR_MARKER in row and not self._hides(drawn, number, row):
                column = visible_width(row.split(CURSOR_MARKER)[0])
                self.caret = (number, min(column, columns - 1))

    def _notice_shift(self, texts: Sequence[str]) -> None:
        unsettled = range(self.settled, min(len(self.committed), len(texts)))
        changed = [row for row in unsettled if self.committed[row] != texts[row]]
        self._notice_moved(texts)
        if changed:
            del self.committed[changed[0] :]

    def _notice_moved(self, texts: Sequence[str]) -> None:
        count = len(self.committed)
        if len(texts) > count and self._stands(texts):
            return
        pairs = enumerate(zip(self.committed, texts, strict=False))
        first = next((index for index, (old, new) in pairs if old != new), None)
        if first is not None:
            del self.committed[first:]

    def _stands(self, texts: Sequence[str]) -> bool:
        """Returns whether at most one of the last rows was edited, and none moved."""
        wrong: list[int] = []
        right = 0
        for index in reversed(range(max(0, len(self.committed) - 24), len(self.committed))):
            if len(wrong) + right == 8 or len(wrong) > 1:
                break
            if self.committed[index] != texts[index]:
                wrong.append(index)
            elif texts[index]:
                right += 1
        if len(wrong) != 1 or not right:
            return not wrong
        place = wrong[0]
        inserted = self.committed[place] in texts[place + 1 : place + 25]
        removed = texts[place] in self.last[place + 1 : place + 25]
        return not (inserted or removed)

    def _covered(self, drawn: Drawn, rows: list[str]) -> list[str]:
        if drawn.overlay is None:
            return rows
        row, column, lines = drawn.overlay
        rows += [""] * (row + len(lines) - len(rows))
        for number, line in enumerate(lines, row):
            rows[number] = _laid_over(rows[number], plain(line), column)
        return rows[: self.height]

    def _hides(self, drawn: Drawn, number: int, row: str) -> bool:
        """Returns whether an overlay covers the cursor."""
        if drawn.overlay is None:
            return False
        first, column, lines = drawn.overlay
        end = column + max((visible_width(line) for line in lines), default=0)
        caret = visible_width(row.split(CURSOR_MARKER)[0])
        return first <= number < first + len(lines) and column < caret < end


def _laid_over(below: str, text: str, column: int) -> str:
    cells, cover = _cells(below), _cells(text)
    cells += [" "] * (column - len(cells))
    end = column + len(cover)
    if column < len(cells) and not cells[column]:  # the right half of a wide character
        cells[column - 1] = " "
    if end < len(cells) and not cells[end]:
        cells[end] = " "
    cells[column:end] = cover
    return "".join(cells).rstrip()


def _cells(text: str) -> list[str]:
    """One entry per column; the second column of a wide character is empty."""
    cells: list[str] = []
    for grapheme in iter_graphemes(text):
        cells += [grapheme] + [""] * (wcswidth(grapheme) - 1)
    return cells
