"""A window onto something longer than the screen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pi.tui.component import Area, Component
from pi.tui.fullscreen.text_search import (
    Match,
    TextSelection,
    find_all,
    followed,
    marked,
    selected_text,
    word_at,
)
from pi.tui.images import protocols
from pi.tui.mouse import MouseEvent, MouseResult
from pi.tui.style import Paint, inverse, unpainted
from pi.tui.text.width import pad_to_width, slice_columns

Follow: TypeAlias = Literal["none", "end"]
Overscroll: TypeAlias = Literal["chain", "contain"]
Scrollbar: TypeAlias = Literal["hidden", "auto", "always"]

WHEEL_ROWS = 3
_THUMB, _TRACK = "█", "│"


@dataclass(frozen=True)
class ScrollTheme:
    """How the bar is painted, and what stands out in the text."""

    track: Paint = unpainted
    thumb: Paint = unpainted
    selection: Paint = inverse
    """What was marked with the mouse."""
    match: Paint = inverse
    """What was looked for, where it is not the place that was gone to."""


_PLAIN = ScrollTheme()


class ScrollView:
    """Shows a part of its child, as high as it is given.

    ``follow="end"`` stays at the end while the child grows, unless the reader has scrolled up.
    ``primary`` is the one that the keys of the fullscreen mode scroll, and the wheel where nothing
    else does. At its edge the wheel goes to what is around, unless ``overscroll`` is ``contain``.
    ``on_select`` gets text that was marked with the mouse. A reader who has scrolled up keeps the
    same text before their eyes when it is folded or wrapped in another way.
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

    @property
    def children(self) -> tuple[Component, ...]:
        """What is shown a part of."""
        return (self.child,)

    @property
    def height(self) -> int:
        """The rows it has."""
        return self._height

    @property
    def anchors(self) -> list[int]:
        """Rows of the child that are worth jumping to, if it knows any."""
        return list(getattr(self.child, "anchors", ()))

    @property
    def selected(self) -> str:
        """The text that is marked, or nothing."""
        return selected_text(self._rows, self._selection) if self._selection is not None else ""

    def unmark(self) -> None:
        """Mark nothing any more."""
        self._selection = None

    def render(self, width: int) -> list[str]:
        """All rows of the child: without a height there is nothing to scroll."""
        return self.child.render(width)

    def render_in(self, width: int, height: int) -> list[str]:
        """The visible part, exactly ``height`` rows."""
        rows = self._drawn(width, height)
        room = width - self._shows_bar
        if self._width != room:  # the text is broken elsewhere
            self._width = room
            self._selection = self._match = None
        if not self._at_end and (
            (row := followed(self._rows, self._visible_rows(), rows)) != self._offset
        ):
            self._offset = row
            self._selection = self._match = None
        self._rows, self._height = rows, height
        self._offset = self._last_offset if self._at_end else min(self._offset, self._last_offset)
        shown = self._visible_rows()
        visible = [
            protocols.clipped(self._decorated(number), shown.stop - number) for number in shown
        ]
        visible += [""] * (height - len(visible))
        return self._with_bar(visible, width) if self._shows_bar else visible

    def _drawn(self, width: int, height: int) -> list[str]:
        """The rows of the child, beside the bar if there is one.

        They are drawn as the time before, and once more only if the bar comes or goes: a child
        remembers how it looks at one width.
        """
        rows = self.child.render(max(width - self._shows_bar, 1))
        if self._scrollbar == "auto" and self._shows_bar != (len(rows) > height and width > 1):
            self._shows_bar = not self._shows_bar
            rows = self.child.render(max(width - self._shows_bar, 1))
        return rows

    def areas_at(self, row: int) -> list[Area]:
        """The child, most of which may be above or below what is shown."""
        return [Area(self.child, -self._offset, 0, self._width, len(self._rows))]

    def invalidate(self) -> None:
        """Make the child forget what it remembers."""
        self.child.invalidate()

    def scroll_by(self, rows: int) -> bool:
        """Scroll down, or up if negative; whether anything moved."""
        return self.scroll_to(self._offset + rows)

    def scroll_to(self, row: int) -> bool:
        """Let ``row`` be the first visible one, as far as possible; whether anything moved."""
        before = self._offset
        self._offset = max(0, min(row, self._last_offset))
        self._at_end = self._follow == "end" and self._offset == self._last_offset
        return self._offset != before

    def scroll_to_end(self) -> bool:
        """Let the last rows be visible; whether anything moved."""
        return self.scroll_to(self._last_offset)

    def jump(self, direction: Literal[-1, 1]) -> bool:
        """Scroll to the nearest anchor above or below the first visible row."""
        if direction < 0:
            return any(self.scroll_to(row) for row in self.anchors[::-1] if row < self._offset)
        return any(self.scroll_to(row) for row in self.anchors if row > self._offset)

    def find(self, text: str, *, direction: Literal[-1, 1] = -1) -> tuple[int, int]:
        """Go to the next place of ``text``; its number and how many there are, or zeros.

        Marks it until it is called with an empty text. The first search goes up from the end of
        what is visible, since the newest is at the bottom.
        """
        matches = find_all(self._rows, text)
        if not matches:
            self._search, self._match = text, None
            return 0, 0
        places = [(match.row, match.start) for match in matches]
        if self._match is None or self._search != text:
            index = max(bisect_left(places, (self._offset + self._height, 0)) - 1, 0)
        elif direction > 0:
            index = bisect_right(places, (self._match.row, self._match.start)) % len(places)
        else:
            index = (bisect_left(places, (self._match.row, self._match.start)) - 1) % len(places)
        self._search, self._match = text, matches[index]
        # The first row does not count as visible: whoever searches types over it.
        if not self._offset < self._match.row < self._offset + self._height:
            self.scroll_to(self._match.row - self._height // 2)
        return index + 1, len(matches)

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Scroll with the wheel; mark by dragging, or by two clicks or three; unmark by one."""
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
                whole = TextSelection(anchor=(row, 0), head=(row, self._width))
                self._selection = word_at(self._rows, row, column) if is_word else whole
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
        """Move the end of the selection; beyond the edge the text scrolls along."""
        if event.y < 0 or event.y >= self._height:
            self.scroll_by(-1 if event.y < 0 else 1)
        self._selection = TextSelection(anchor=self._pressed, head=self._cell(event))

    def _cell(self, event: MouseEvent) -> tuple[int, int]:
        """The row and column of the child under the mouse, or the nearest that is visible."""
        return self._offset + max(0, min(event.y, self._height - 1)), max(0, event.x)

    def _decorated(self, number: int) -> str:
        row = self._rows[number]
        if self._selection is not None and (span := self._selection.columns(number, 1 << 16)):
            return marked(row, *span, self._theme.selection)
        if self._match is None:
            return row
        for found in find_all([row], self._search):
            row = marked(row, found.start, found.end, self._theme.match)
        if self._match.row == number:
            row = marked(row, self._match.start, self._match.end)
        return row

    def _with_bar(self, rows: list[str], width: int) -> list[str]:
        """The rows with a bar at the right edge that shows where they are in the whole."""
        total = max(len(self._rows), 1)
        size = max(1, self._height * min(self._height, total) // total)
        free = self._height - size
        start = free * self._offset // self._last_offset if self._last_offset else 0
        thumb, track = self._theme.thumb(_THUMB), self._theme.track(_TRACK)
        bar = [thumb if start <= row < start + size else track for row in range(self._height)]
        room = width - 1
        return [
            pad_to_width(slice_columns(row, 0, room), room) + part
            for row, part in zip(rows, bar, strict=True)
        ]
