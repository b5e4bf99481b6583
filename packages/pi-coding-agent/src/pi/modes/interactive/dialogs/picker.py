"""A searchable list: the body of most dialogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import truncate_to_width
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import ListSelection, Most

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

NO_MATCH = "No matching items"


class DrawItem(Protocol[T_contra]):
    """Draws one item on one row; rows that are too wide are truncated."""

    def __call__(self, item: T_contra, /, width: int, *, selected: bool) -> str:
        """The row, without the arrow before it."""
        ...


class Picker(CachedWidget, Generic[T]):
    """A search field, and below it the results of ``find``.

    The first item, the best match, is selected while the user types. ``keys`` are further actions;
    each is called with the selected item, if any. ``same`` returns the identity of an item across
    lists, and ``query`` is the initial search. ``group`` returns the heading above an item while
    nothing is searched; ``foot`` returns rows below the list.
    """

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        *,
        find: Callable[[str], Sequence[T]],
        draw: DrawItem[T],
        rows: Most,
        on_pick: Callable[[T], None],
        on_cancel: Callable[[], None],
        on_move: Callable[[T], None] = lambda item: None,
        keys: Mapping[str, Callable[[T | None], None]] | None = None,
        same: Callable[[T], object] = lambda item: item,
        query: str = "",
        head: Callable[[int], Sequence[str]] = lambda width: (),
        foot: Callable[[int], Sequence[str]] = lambda width: (),
        group: Callable[[T], str] = lambda item: "",
        empty: str = NO_MATCH,
        placeholder: str = "Type to search",
    ) -> None:
        self._theme = theme
        self._keymap = keymap
        self._find = find
        self._draw_item = draw
        self._on_pick = on_pick
        self._on_cancel = on_cancel
        self._on_move = on_move
        self._keys = keys or {}
        self._same = same
        self._head = head
        self._foot = foot
        self._group = group
        self.empty = empty
        """Text of an empty list."""
        self._field = Input(
            prompt=" > ",
            placeholder=placeholder,
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_change=self._search,
        )
        self._field.set_value(query)
        self._selection = ListSelection(rows, keymap)
        self._items: Sequence[T] = ()
        self.refresh()

    @property
    def focused(self) -> bool:
        """Whether the search field shows its cursor."""
        return self._field.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._field.focused = focused
        super().invalidate()

    @property
    def query(self) -> str:
        """The search text."""
        return self._field.get_value()

    @property
    def selected(self) -> T | None:
        """The selected item; ``None`` in an empty list."""
        return self._items[self._selection.index] if self._items else None

    def select(self, matches: Callable[[T], bool]) -> None:
        """Select the first item that matches; without one the selection stays."""
        for index, item in enumerate(self._items):
            if matches(item):
                self._selection.select(index)
                super().invalidate()
                return

    def select_next(self) -> None:
        """Select the item below; the last one stays selected."""
        self._selection.select(self._selection.index + 1)
        super().invalidate()

    def refresh(self) -> None:
        """Search again.

        A selection made by the user is kept; otherwise the best match is selected.
        """
        chosen = self.selected if self._selection.index else None
        self._items = self._find(self.query)
        self._selection.resize(len(self._items))
        super().invalidate()
        if chosen is not None:
            self.select(lambda item: self._same(item) == self._same(chosen))

    def handle_input(self, data: str) -> None:
        """Move, choose, search, cancel, or run one of ``keys``."""
        super().invalidate()
        before = self._selection.index
        actions = self._keymap.actions(data)
        own = next((action for action in actions if action in self._keys), None)
        if own is not None:
            self._keys[own](self.selected)
        elif self._selection.handle_input(data):
            if self.selected is not None and self._selection.index != before:
                self._on_move(self.selected)
        elif "tui.select.confirm" in actions:
            if self.selected is not None:
                self._on_pick(self.selected)
        elif "tui.select.cancel" in actions:
            self._on_cancel()
        else:
            self._field.handle_input(data)

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        super().invalidate()
        self._field.invalidate()

    def _cache_key(self) -> object:
        return self._selection.room

    def _search(self, query: str) -> None:
        self.refresh()
        self._selection.select(0)
        if self.selected is not None:
            self._on_move(self.selected)

    def _draw(self, width: int) -> list[str]:
        head = (f" {line}" for line in self._head(max(width - 1, 1)))
        rows = [*self._field.render(width), *head, ""]
        if not self._items:
            return [
                *rows,
                self._theme.paint("muted")(truncate_to_width(f"   {self._why_empty()}", width)),
            ]
        arrow = self._theme.paint("accent")("→ ")
        groups = [] if self.query else [self._group(item) for item in self._items]
        visible = self._selection.grouped(groups) if groups else self._selection.visible
        for row in visible:
            if isinstance(row, str):
                rows.append(f"   {self._theme.heading(row)}")
                continue
            selected = row == self._selection.index
            drawn = self._draw_item(self._items[row], max(width - 3, 1), selected=selected)
            rows.append(f" {arrow if selected else '  '}{drawn}")
        if position := self._selection.position:
            rows.append(self._theme.paint("dim")(f"   {position}"))
        rows += (f"   {line}" for line in self._foot(max(width - 3, 1)))
        return [truncate_to_width(row, width, "…") for row in rows]

    def _why_empty(self) -> str:
        return NO_MATCH if self.query and self._find("") else self.empty
