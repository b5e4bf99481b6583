"""A scrolling view of a component that is higher than the screen."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.tui.component import Area, Component
from pi.tui.images import protocols
from pi.tui.mouse import MouseEvent, MouseResult
from pi.tui.style import Paint, inverse, unpainted
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import pad_to_width, slice_columns, visible_width


class Match(Record):
    """The position of a match, in columns."""

    row: int
    start: int
    end: int


def find_all(rows: Sequence[str], text: str) -> list[Match]:
    """Return every match of ``text``. Case matters only if ``text`` contains capitals."""
    if not text:
        return []
    fold = text == text.lower()
    matches: list[Match] = []
    for number, row in enumerate(rows):
        plain = strip_sequences(row)
        line = plain.lower() if fold and len(plain.lower()) == len(plain) else plain
        index = line.find(text)
        while index >= 0:
            start = visible_width(plain[:index])
            width = visible_width(plain[index : index + len(text)])
            matches.append(Match(row=number, start=start, end=start + width))
            index = line.find(text, index + len(text))
    return matches


_WORD = re.compile(r"[\w./~:@%&=?#+-]+")


class TextSelection(Record):
    """A selection from the cell where the button was pressed to the current cell.

    Rows are those of the content.
    """

    anchor: tuple[int, int]
    """Row and column."""
    head: tuple[int, int]

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The first and last cell, in reading order."""
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def columns(self, row: int, width: int) -> tuple[int, int] | None:
        """Return the selected columns of a row as start and end; None if there are none."""
        (first_row, first), (last_row, last) = self.ends
        if not first_row <= row <= last_row:
            return None
        start = first if row == first_row else 0
        end = last + 1 if row == last_row else width
        return (start, min(end, width)) if start < min(end, width) else None


def word_at(rows: Sequence[str], row: int, column: int) -> TextSelection | None:
    """Return the word, path or URL at a cell, without trailing punctuation."""
    plain = strip_sequences(rows[row]) if 0 <= row < len(rows) else ""
    for word in _WORD.finditer(plain):
        start = visible_width(plain[: word.start()])
        end = start + visible_width(word[0].rstrip(".:?")) - 1
        if start <= column <= end:
            return TextSelection(anchor=(row, start), head=(row, end))
    return None


def selected_text(rows: Sequence[str], selection: TextSelection) -> str:
    """Return the selected text, without styles and trailing spaces."""
    (first, _), (last, _) = selection.ends
    lines: list[str] = []
    for number in range(max(first, 0), min(last + 1, len(rows))):
        row = rows[number]
        span = selection.columns(number, visible_width(row))
        lines.append(
            strip_sequences(slice_columns(row, span[0], span[1] - span[0])) if span else ""
        )
    return "\n".join(line.rstrip() for line in lines)


def marked(row: str, start: int, end: int, paint: Paint = inverse) -> str:
    """Return a row with the columns from ``start`` to ``end`` painted."""
    width = visible_width(row)
    middle = strip_sequences(slice_columns(row, start, end - start))
    rest = slice_columns(row, end, max(0, width - end))
    return f"{slice_columns(row, 0, start)}{paint(middle)}{rest}"


def followed(old: Sequence[str], visible: range, new: Sequence[str]) -> int:
    """Find the row at the top of the view again after a new layout.

    Returns the row of ``new`` at which to start, so that what was ``visible`` of ``old`` keeps its
    position. The first non-blank row that is found again decides. Rows are identified by their text
    and by the number of equal rows above them. A view at the very top stays there.
    """
    if not visible.start or old[: visible.start + 1] == new[: visible.start + 1]:
        return visible.start
    before, after = [*map(_text, old)], [*map(_text, new)]
    for row in visible:
        candidates = [number for number, text in enumerate(after) if text and text == before[row]]
        which = before[:row].count(before[row])
        if which < len(candidates):
            return max(candidates[which] - (row - visible.start), 0)
    return visible.start


def _text(row: str) -> str:
    return strip_sequences(row).strip()


Follow: TypeAlias = Literal["none", "end"]
Overscroll: TypeAlias = Literal["chain", "contain"]
Scrollbar: TypeAlias = Literal["hidden", "auto", "always"]

WHEEL_ROWS = 3
_THUMB, _TRACK = "┃", "│"


@dataclass(frozen=True)
class ScrollTheme:
    """Paints of the scroll bar, the selection and search matches."""

    track: Paint = unpainted
    thumb: Paint = unpainted
    selection: Paint = inverse
    """Text selected with the mouse."""
    match: Paint = inverse
    """Search matches other than the current one."""


_PLAIN = ScrollTheme()


class ScrollView:
    """Shows a part of its child, at a given height.

    ``follow="end"`` keeps the end visible while the child grows, unless the user has scrolled up.
    The ``primary`` view is scrolled by the keys of fullscreen mode, and by the wheel where no other
    view scrolls. At its edge the wheel scrolls the enclosing view, unless ``overscroll`` is
    ``contain``. ``on_select`` receives text selected with the mouse. If the user has scrolled up,
    the same text stays visible when the content is folded or wrapped differently.
    """

    def __init__(
        self,
        child: Component,
        *,
        follow: Follow = "none",
        primary: bool = False,
        overscroll: Overscroll = "chain",
        scrollbar: Scrollbar = "auto",
        on_select: Callable[[str], None] | None = None,
        theme: ScrollTheme = _PLAIN,
    ) -> None:
        self.child = child
        self.is_primary = primary
        self._follow = follow
        self._overscroll = overscroll
        self._scrollbar = scrollbar
        self._on_select = on_select
        self._theme = theme
        self._rows: list[str] = []
        self._width = self._height = 0
        self._shows_bar = scrollbar == "always"
        self._offset = 0
        self._at_end = follow == "end"
        self._pressed = (0, 0)
        self._selection: TextSelection | None = None
        self._search = ""
        self._match: Match | None = None
        self.invalidate = self.child.invalidate
        """Invalidates the child."""

    @property
    def children(self) -> tuple[Component, ...]:
        """The child."""
        return (self.child,)

    @property
    def height(self) -> int:
        """The height in rows."""
        return self._height

    @property
    def anchors(self) -> list[int]:
        """Rows of the child to jump to, if it reports any."""
        return list(getattr(self.child, "anchors", ()))

    @property
    def selected(self) -> str:
        """The selected text, or an empty string."""
        return selected_text(self._rows, self._selection) if self._selection is not None else ""

    def unmark(self) -> None:
        """Clear the selection."""
        self._selection = None

    def render(self, width: int) -> list[str]:
        """Return all rows of the child: without a height there is nothing to scroll."""
        return self.child.render(width)

    def render_in(self, width: int, height: int) -> list[str]:
        """Return the visible part, exactly ``height`` rows."""
        rows = self._drawn(width, height)
        text_width = width - self._shows_bar
        if self._width != text_width:  # line breaks have moved
            self._width = text_width
            self._selection = self._match = None
        if not self._at_end and (
            (row := followed(self._rows, self._visible_rows(), rows)) != self._offset
        ):
            self._offset = row
            self._selection = self._match = None
        self._rows, self._height = rows, height
        self._offset = self._last_offset if self._at_end else min(self._offset, self._last_offset)
        row_numbers = self._visible_rows()
        visible = [
            protocols.clipped(self._decorated(number), row_numbers.stop - number)
            for number in row_numbers
        ]
        visible += [""] * (height - len(visible))
        return self._with_bar(visible, width) if self._shows_bar else visible

    def _drawn(self, width: int, height: int) -> list[str]:
        """Return the rows of the child, beside the scroll bar if there is one.

        Draws at the previous width first, and again only if the bar appears or disappears, because
        a child caches its rows for one width.
        """
        rows = self.child.render(max(width - self._shows_bar, 1))
        if self._scrollbar == "auto" and self._shows_bar != (len(rows) > height and width > 1):
            self._shows_bar = not self._shows_bar
            rows = self.child.render(max(width - self._shows_bar, 1))
        return rows

    def areas_at(self, row: int) -> list[Area]:
        """Return the area of the child, most of which may be outside the view."""
        return [Area(self.child, -self._offset, 0, self._width, len(self._rows))]

    def scroll_by(self, rows: int) -> bool:
        """Scroll down, or up if negative. Returns whether anything moved."""
        return self.scroll_to(self._offset + rows)

    def scroll_to(self, row: int) -> bool:
        """Make ``row`` the first visible row if possible. Returns whether anything moved."""
        before = self._offset
        self._offset = max(0, min(row, self._last_offset))
        self._at_end = self._follow == "end" and self._offset == self._last_offset
        return self._offset != before

    def scroll_to_end(self) -> bool:
        """Scroll to the end. Returns whether anything moved."""
        return self.scroll_to(self._last_offset)

    def jump(self, direction: Literal[-1, 1]) -> bool:
        """Scroll to the nearest anchor above or below the first visible row."""
        if direction < 0:
            return any(self.scroll_to(row) for row in self.anchors[::-1] if row < self._offset)
        return any(self.scroll_to(row) for row in self.anchors if row > self._offset)

    def find(self, text: str, *, direction: Literal[-1, 1] = -1) -> tuple[int, int]:
        """Go to the next match of ``text``. Returns its number and the total, or zeros.

        Matches are highlighted until the text is empty. The first search goes up from the end of
        the visible part, because the newest text is at the bottom.
        """
        matches = find_all(self._rows, text)
        if not matches:
            self._search, self._match = text, None
            return 0, 0
        positions = [(match.row, match.start) for match in matches]
        if self._match is None or self._search != text:
            index = max(bisect_left(positions, (self._offset + self._height, 0)) - 1, 0)
        elif direction > 0:
            index = bisect_right(positions, (self._match.row, self._match.start)) % len(positions)
        else:
            index = (bisect_left(positions, (self._match.row, self._match.start)) - 1) % len(
                positions
            )
        self._search, self._match = text, matches[index]
        # The first row does not count as visible, because the search bar covers it.
        if not self._offset < self._match.row < self._offset + self._height:
            self.scroll_to(self._match.row - self._height // 2)
        return index + 1, len(matches)

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Scroll with the wheel; selects by dragging, double or triple click; a click clears."""
        match event.type:
            case "wheel":
                moved = self.scroll_by(event.wheel_delta * WHEEL_ROWS)
                return MouseResult(handled=moved or self._overscroll == "contain", render=moved)
            case "press" if event.button == "left":
                self._selection, self._pressed = None, self._cell(event)
                return MouseResult(handled=True, capture=True, render=True)
            case "drag" if event.button == "left":
                self._drag(event)
                return MouseResult(handled=True, render=True)
            case "release" if self._selection is not None:
                return self._marked()
            case "click" if event.button == "left" and event.click_count > 1:
                row, column = self._cell(event)
                is_word = event.click_count == 2
                line_selection = TextSelection(anchor=(row, 0), head=(row, self._width))
                self._selection = word_at(self._rows, row, column) if is_word else line_selection
                return self._marked()
            case _:
                return None

    def _marked(self) -> MouseResult:
        if self._on_select is not None and (text := self.selected):
            self._on_select(text)
        return MouseResult(handled=True, render=True)

    @property
    def _last_offset(self) -> int:
        return max(0, len(self._rows) - self._height)

    def _visible_rows(self) -> range:
        return range(self._offset, min(self._offset + self._height, len(self._rows)))

    def _drag(self, event: MouseEvent) -> None:
        """Move the end of the selection. Beyond the edge, the view scrolls."""
        if event.y < 0 or event.y >= self._height:
            self.scroll_by(-1 if event.y < 0 else 1)
        self._selection = TextSelection(anchor=self._pressed, head=self._cell(event))

    def _cell(self, event: MouseEvent) -> tuple[int, int]:
        """Return the row and column of the child under the mouse, or the nearest visible cell."""
        return self._offset + max(0, min(event.y, self._height - 1)), max(0, event.x)

    def _decorated(self, number: int) -> str:
        row = self._rows[number]
        if self._selection is not None and (span := self._selection.columns(number, 1 << 16)):
            return marked(row, *span, self._theme.selection)
        if self._match is None:
            return row
        for match in find_all([row], self._search):
            row = marked(row, match.start, match.end, self._theme.match)
        if self._match.row == number:
            row = marked(row, self._match.start, self._match.end)
        return row

    def _with_bar(self, rows: list[str], width: int) -> list[str]:
        """Add a scroll bar at the right edge."""
        total = max(len(self._rows), 1)
        size = max(1, self._height * min(self._height, total) // total)
        free = self._height - size
        start = free * self._offset // self._last_offset if self._last_offset else 0
        thumb, track = self._theme.thumb(_THUMB), self._theme.track(_TRACK)
        bar = [thumb if start <= row < start + size else track for row in range(self._height)]
        text_width = width - 1
        return [
            pad_to_width(slice_columns(row, 0, text_width), text_width) + part
            for row, part in zip(rows, bar, strict=True)
        ]
