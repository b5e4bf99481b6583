"""A list to choose from, and the selection in a list that is partly visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.tui.containers import CachedWidget
from pi.tui.input.keymap import Keymap
from pi.tui.style import Paint, unpainted
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

Most: TypeAlias = int | Callable[[], int]
"""The maximum number of visible rows, or a function that returns it."""


class ListSelection:
    """The selected row of a list, and the visible rows."""

    def __init__(self, max_visible: Most, keymap: Keymap) -> None:
        self.index = 0
        """The selected row; 0 in an empty list."""
        self._count = 0
        self._most = max_visible
        self._keymap = keymap

    @property
    def room(self) -> int:
        """The maximum number of visible rows."""
        return max(self._most() if callable(self._most) else self._most, 1)

    def resize(self, count: int) -> None:
        """Set the number of rows; the selection stays inside."""
        self._count = count
        self.select(self.index)

    def select(self, index: int) -> None:
        """Select a row, or the nearest one."""
        self.index = max(min(index, self._count - 1), 0)

    def handle_input(self, data: str) -> bool:
        """Handle a navigation key. Returns whether it was one. Up and down wrap around."""
        for action in self._keymap.actions(data):
            match action:
                case "tui.select.up":
                    self.select((self.index - 1) % max(self._count, 1))
                case "tui.select.down":
                    self.select((self.index + 1) % max(self._count, 1))
                case "tui.select.pageUp":
                    self.select(self.index - self.room)
                case "tui.select.pageDown":
                    self.select(self.index + self.room)
                case _:
                    continue
            return True
        return False

    @property
    def visible(self) -> range:
        """The visible rows, with the selected one in the middle if possible."""
        return _window(self._count, self.index, self.room)

    def grouped(self, groups: Sequence[str]) -> list[int | str]:
        """Return the visible rows: indices, with the name of a group before its first row.

        ``groups`` has one name for each row of the list. Headings take part of the room; where
        there is hardly any, they are left out.
        """
        lines: list[int | str] = []
        for index, group in enumerate(groups):
            if group and group != (groups[index - 1] if index else ""):
                lines.append(group)
            lines.append(index)
        if len(lines) == len(groups) or self.room < _MIN_GROUPED:
            return list(self.visible)
        visible = [
            lines[position] for position in _window(len(lines), lines.index(self.index), self.room)
        ]
        while isinstance(visible[-1], str) and len(visible) > 1:
            visible.pop()  # a heading without its rows
        return visible

    @property
    def position(self) -> str:
        """Return ``(i/n)`` if not all rows are visible, otherwise an empty string."""
        return f"({self.index + 1}/{self._count})" if self._count > self.room else ""


def _window(count: int, selected: int, height: int) -> range:
    last_start = max(count - height, 0)
    start = max(min(selected - height // 2, last_start), 0)
    return range(start, min(start + height, count))


_MIN_GROUPED = 6
"""Rows below which a list shows no headings."""
_WIDEST_LABEL = 32
_MIN_DESCRIPTION = 10
"""Columns below which a description is omitted."""
_NARROW = 24
"""Columns below which a description is not truncated, but shown below the list."""


class SelectItem(Record):
    """An item; ``value`` is for the program, the other fields are shown."""

    value: str
    label: str = ""
    description: str = ""


class SelectTheme(Record):
    """The style of a ``SelectList``."""

    prefix: Paint = unpainted
    selected: Paint = unpainted
    description: Paint = unpainted
    scroll_info: Paint = unpainted
    no_match: Paint = unpainted


class SelectList(CachedWidget):
    """One item per row, of which one is selected. Texts are sanitised when they are set.

    ``on_select`` receives the chosen item, ``on_change`` the newly selected one. Descriptions that
    do not fit beside the labels are cut; with ``describes_below``, on a narrow screen, that of the
    selected item is shown below the list instead. With ``describes_whole`` they are shown if all of
    them fit, otherwise the caller shows them: see ``describes``.
    """

    def __init__(
        self,
        items: Iterable[SelectItem] = (),
        max_visible: Most = 5,
        theme: SelectTheme | None = None,
        *,
        keymap: Keymap | None = None,
        on_select: Callable[[SelectItem], None] = lambda item: None,
        on_cancel: Callable[[], None] = lambda: None,
        on_change: Callable[[SelectItem], None] = lambda item: None,
        describes_below: bool = False,
        describes_whole: bool = False,
    ) -> None:
        self._theme = theme or SelectTheme()
        self._describes_below = describes_below
        self._describes_whole = describes_whole
        self._keymap = keymap or Keymap()
        self._on_select = on_select
        self._on_cancel = on_cancel
        self.on_change = on_change
        self._query = ""
        self._selection = ListSelection(max_visible, self._keymap)
        self.set_items(items)

    @property
    def selected(self) -> SelectItem | None:
        """The selected item; None if no item is shown."""
        return self._filtered_items[self._selection.index] if self._filtered_items else None

    def set_items(self, items: Iterable[SelectItem]) -> None:
        """Replace the items; the filter stays."""
        self._items = [_sanitised(item) for item in items]
        self.filter(self._query)

    def filter(self, query: str) -> None:
        """Show the items that match a query, best first, and select the best."""
        from pi.base.fuzzy import rank  # lazy: not needed for an editor's first frame

        self._query = query
        self._filtered_items = rank(query, self._items, key=lambda item: item.label)
        self._selection.resize(len(self._filtered_items))
        self.select(0)

    def describes(self, width: int) -> bool:
        """Return whether all descriptions fit beside the labels."""
        widest = max((visible_width(item.description) for item in self._filtered_items), default=0)
        return width - self._label_width(width) - 4 >= widest

    def select(self, index: int) -> None:
        """Select a shown item by index, or the nearest one."""
        before = self.selected
        self._selection.select(index)
        self._moved_from(before)

    def handle_input(self, data: str) -> None:
        """Handle navigation, choice and cancel."""
        before = self.selected
        if self._selection.handle_input(data):
            self._moved_from(before)
        elif self._keymap.matches(data, "tui.select.confirm"):
            if before is not None:
                self._on_select(before)
        elif self._keymap.matches(data, "tui.select.cancel"):
            self._on_cancel()

    def _cache_key(self) -> object:
        return self._selection.room

    def _moved_from(self, before: SelectItem | None) -> None:
        self.invalidate()
        if self.selected is not None and self.selected != before:
            self.on_change(self.selected)

    def _draw(self, width: int) -> list[str]:
        if not self._filtered_items:
            return [self._theme.no_match(truncate_to_width("  No matching items", width, ""))]
        label_width = self._label_width(width)
        below: list[str] = []
        has_descriptions = any(item.description for item in self._filtered_items)
        is_below = self._describes_below and has_descriptions
        if self._describes_whole:
            label_width = label_width if self.describes(width) else max(width - 2, 0)
        elif is_below and not self._has_room_beside(label_width, width):
            label_width, below = max(width - 2, 0), self._descriptions_below(width)
        rows = [self._draw_item(index, label_width, width) for index in self._selection.visible]
        if position := self._selection.position:
            rows.append(self._theme.scroll_info(truncate_to_width(f"  {position}", width, "")))
        return rows + below

    def _has_room_beside(self, label_width: int, width: int) -> bool:
        widest = max(visible_width(item.description) for item in self._filtered_items)
        return width - label_width - 4 >= min(widest, _NARROW)

    def _descriptions_below(self, width: int) -> list[str]:
        """Return the selected description, in as many rows as the longest one needs."""
        wrapped = [wrap_text(item.description, max(width - 4, 1)) for item in self._filtered_items]
        rows = wrapped[self._selection.index]
        rows = rows + [""] * (max(map(len, wrapped)) - len(rows))
        return ["", *(self._theme.description(f"  {row}") if row else "" for row in rows)]

    def _label_width(self, width: int) -> int:
        """Return one width for all labels, so that scrolling moves nothing horizontally."""
        if not any(item.description for item in self._filtered_items):
            return max(width - 2, 0)
        widest = max(visible_width(item.label) for item in self._filtered_items)
        label_width = min(widest, _WIDEST_LABEL)
        return label_width if width - label_width - 4 >= _MIN_DESCRIPTION else max(width - 2, 0)

    def _draw_item(self, index: int, label_width: int, width: int) -> str:
        item = self._filtered_items[index]
        is_selected = index == self._selection.index
        description_width = width - 2 - label_width - 2
        has_description = bool(item.description) and description_width >= _MIN_DESCRIPTION
        label = truncate_to_width(item.label, label_width, "…", pad=has_description)
        description = (
            f"  {truncate_to_width(item.description, description_width, '…')}"
            if has_description
            else ""
        )
        if is_selected:
            arrow = self._theme.prefix("→ ")
            return truncate_to_width(arrow + self._theme.selected(label + description), width, "")
        return truncate_to_width(f"  {label}{self._theme.description(description)}", width, "")


def _sanitised(item: SelectItem) -> SelectItem:
    label = one_line(item.label) or one_line(item.value)
    return replace(item, label=label, description=one_line(item.description))
