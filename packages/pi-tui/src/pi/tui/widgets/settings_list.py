"""A list of settings and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from pi.base.fuzzy import rank
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.tui.component import Component, Focusable, Interactive
from pi.tui.containers import CachedWidget
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import matches_key
from pi.tui.style import Paint, unpainted
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import ListSelection, Most

_MAX_LABEL = 30
_MIN_VALUE = 14
"""The minimum columns of a value with its spacing; labels are cut for it."""

Done: TypeAlias = Callable[[str | None], None]
"""Closes a submenu with the chosen value, or None."""

Submenu: TypeAlias = Callable[[str, Done], Component]
"""Creates a component that asks for a value, given the current one."""


class SettingItem(Record):
    """A setting with fixed ``values`` or a submenu."""

    id: str
    label: str
    current_value: str
    description: str = ""
    values: tuple[str, ...] = ()
    submenu: Submenu | None = None
    group: str = ""
    """The heading above it, while the list is not searched."""


class SettingsTheme(Record):
    """The style of a ``SettingsList``."""

    cursor: Paint = unpainted
    selected: Paint = unpainted
    value: Paint = unpainted
    description: Paint = unpainted
    hint: Paint = unpainted
    heading: Paint = unpainted


class SettingsList(CachedWidget):
    """One setting per row. Enter selects the next value or opens the submenu.

    ``on_change`` receives the id and the new value. With ``is_searchable``, typing filters the
    settings. ``hint`` is shown at the bottom. Descriptions are shown while ``describes`` returns
    true.
    """

    def __init__(
        self,
        items: Iterable[SettingItem],
        max_visible: Most = 10,
        theme: SettingsTheme | None = None,
        *,
        on_change: Callable[[str, str], None],
        on_cancel: Callable[[], None],
        keymap: Keymap | None = None,
        is_searchable: bool = False,
        hint: str = "Enter/Space to change · Esc to cancel",
        describes: Callable[[], bool] = lambda: True,
    ) -> None:
        self._items = [_sanitised(item) for item in items]
        self._filtered_items = self._items
        self._theme = theme or SettingsTheme()
        self._on_change = on_change
        self._on_cancel = on_cancel
        self._keymap = keymap or Keymap()
        self._hint = hint
        self._describes = describes
        self._search = self._new_search() if is_searchable else None
        self._focused = False
        self._submenu: Component | None = None
        self._selection = ListSelection(max_visible, self._keymap)
        self._selection.resize(len(self._items))

    @property
    def focused(self) -> bool:
        """Whether a cursor is shown in a text field."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = focused
        for part in (self._search, self._submenu):
            _focus(part, focused=focused)
        super().invalidate()

    @property
    def is_asking(self) -> bool:
        """Whether a submenu is open."""
        return self._submenu is not None

    def set_value(self, id: str, value: str) -> None:
        """Show another value of a setting without calling ``on_change``."""
        self._items = [
            replace(item, current_value=one_line(value)) if item.id == id else item
            for item in self._items
        ]
        self._filtered_items = _search(self._query, self._items)
        self.invalidate()

    def handle_input(self, data: str) -> None:
        """Handle navigation, change, search and cancel; an open submenu receives all keys."""
        self.invalidate()
        if self._submenu is not None:
            if isinstance(self._submenu, Interactive):
                self._submenu.handle_input(data)
        elif self._selection.handle_input(data):
            pass
        elif self._keymap.matches(data, "tui.select.cancel"):
            self._on_cancel()
        elif self._is_change(data):
            self._change()
        elif self._search is not None:
            self._search.handle_input(data)

    def invalidate(self) -> None:
        """Discard cached rows."""
        super().invalidate()
        if self._submenu is not None:
            self._submenu.invalidate()

    def render(self, width: int) -> list[str]:
        """Return the settings, or the open submenu."""
        if self._submenu is not None:
            return self._submenu.render(width)
        return super().render(width)

    def _cache_key(self) -> object:
        return self._selection.room, self._describes()

    def _new_search(self) -> Input:
        return Input(
            placeholder="Type to search",
            placeholder_paint=self._theme.hint,
            keymap=self._keymap,
            on_change=self._find,
        )

    def _is_change(self, data: str) -> bool:
        is_space = matches_key(data, "space") and not self._query
        return is_space or self._keymap.matches(data, "tui.select.confirm")

    def _change(self) -> None:
        if not self._filtered_items:
            return
        item = self._filtered_items[self._selection.index]
        if item.submenu is not None:
            self._submenu = item.submenu(item.current_value, lambda value: self._close(item, value))
            _focus(self._submenu, focused=self._focused)
        elif item.values:
            index = (
                item.values.index(item.current_value) if item.current_value in item.values else -1
            )
            self._choose(item, item.values[(index + 1) % len(item.values)])

    def _close(self, item: SettingItem, value: str | None) -> None:
        self._submenu = None
        self.invalidate()
        if value is not None:
            self._choose(item, value)

    def _choose(self, item: SettingItem, value: str) -> None:
        self.set_value(item.id, value)
        self._on_change(item.id, value)

    @property
    def _query(self) -> str:
        return self._search.get_value().strip() if self._search is not None else ""

    def _find(self, typed: str) -> None:
        self._filtered_items = _search(self._query, self._items)
        self._selection.resize(len(self._filtered_items))
        self._selection.select(0)

    def _draw(self, width: int) -> list[str]:
        rows = [*self._search.render(width), ""] if self._search is not None else []
        if self._filtered_items:
            longest = max(visible_width(item.label) for item in self._filtered_items)
            label_width = min(longest, _MAX_LABEL, max(width - _MIN_VALUE, _MIN_VALUE))
            groups = [item.group for item in self._filtered_items] if not self._query else []
            visible = self._selection.grouped(groups) if groups else self._selection.visible
            rows += [
                self._draw_item(row, label_width)
                if isinstance(row, int)
                else f"  {self._theme.heading(row)}"
                for row in visible
            ]
            if position := self._selection.position:
                rows.append(f"  {self._theme.hint(position)}")
            rows += self._draw_description(width)
        else:
            rows.append(self._theme.hint("  No matching settings"))
        if self._hint:
            rows += ["", self._theme.hint(f"  {self._hint}")]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _draw_item(self, index: int, label_width: int) -> str:
        item = self._filtered_items[index]
        label = pad_to_width(truncate_to_width(item.label, label_width, "…"), label_width)
        value = self._theme.value(item.current_value)
        if index != self._selection.index:
            return f"  {label}  {value}"
        return f"{self._theme.cursor('→ ')}{self._theme.selected(label)}  {value}"

    def _draw_description(self, width: int) -> list[str]:
        description = self._filtered_items[self._selection.index].description
        if not description or not self._describes():
            return []
        lines = wrap_text(description, max(width - 4, 1))
        return ["", *(f"  {self._theme.description(line)}" for line in lines)]


def _sanitised(item: SettingItem) -> SettingItem:
    return replace(
        item,
        label=one_line(item.label),
        current_value=one_line(item.current_value),
        description=one_line(item.description),
    )


def _focus(part: object, *, focused: bool) -> None:
    if isinstance(part, Focusable):
        part.focused = focused


def _search(query: str, items: list[SettingItem]) -> list[SettingItem]:
    """Return the settings that hold every word of a query, best place first.

    The id counts most, then names, groups and descriptions. If no setting holds all words, fuzzy
    matches are returned, so that a typing error finds something.
    """
    words = query.casefold().split()
    if not words:
        return items
    ranked = [(_rank_item(item, words), item) for item in items]
    matches = [(field_rank, item) for field_rank, item in ranked if field_rank is not None]
    if not matches:
        return rank(query, items, key=lambda item: f"{item.label} {item.id}")
    return [item for _, item in sorted(matches, key=lambda match: match[0])]


def _rank_item(item: SettingItem, words: list[str]) -> int | None:
    """Return the rank of the best field with all words, from 0; None if a word is missing."""
    label, name = item.label.casefold(), item.id.casefold()
    fields = (label, f"{label} {name}", f"{label} {name} {item.group.casefold()}")
    all_text = f"{fields[-1]} {item.current_value.casefold()} {item.description.casefold()}"
    if words == [name]:
        return 0
    if label.startswith(words[0]) and all(word in label for word in words):
        return 1
    for field_rank, field in enumerate((*fields, all_text), start=2):
        if all(word in field for word in words):
            return field_rank
    return None
