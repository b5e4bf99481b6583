"""The component that shows the tree of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.tree.filter import Mode
from pi.modes.interactive.dialogs.tree.rows import draw_row
from pi.modes.interactive.dialogs.tree.view import TreeView
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width
from pi.tui.widgets.input import Input

_FILTERS: dict[str, Mode] = {
    "app.tree.filter.default": "default",
    "app.tree.filter.noTools": "no-tools",
    "app.tree.filter.userOnly": "user-only",
    "app.tree.filter.labeledOnly": "labeled-only",
    "app.tree.filter.all": "all",
}
_ALSO: dict[str, Mode] = {
    "alt+d": "default",
    "alt+t": "no-tools",
    "alt+u": "user-only",
    "alt+l": "labeled-only",
    "alt+a": "all",
}
"""Additional filter keys, unless the user bound them to another action of the tree."""


_ROOMY = 8
"""Rows of the list from which an empty row separates it from the search."""


class TreeSelector:
    """Lists a ``TreeView`` and moves in it.

    ``on_pick`` gets the id of the chosen entry, ``on_label`` an id and its new label.
    """

    def __init__(
        self,
        view: TreeView,
        theme: Theme,
        keymap: Keymap,
        *,
        rows: Callable[[], int],
        on_pick: Callable[[str], None],
        on_cancel: Callable[[], None],
        on_label: Callable[[str, str], None],
    ) -> None:
        self._view = view
        self._theme = theme
        self._keymap = keymap
        self._rows = rows
        self._on_pick = on_pick
        self._on_cancel = on_cancel
        self._on_label = on_label
        self._shows_times = False
        self._search = Input(
            prompt=" > ",
            placeholder="Type to search",
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_change=view.search,
        )
        self._search.set_value(view.query)
        self.invalidate = self._search.invalidate
        """Invalidates the cached rows."""
        self._label: Input | None = None
        """The field for a label."""
        self.focused = False
        """Whether a cursor is shown."""

    @property
    def is_labelling(self) -> bool:
        """Whether a label is being edited."""
        return self._label is not None

    def handle_input(self, data: str) -> None:
        """Move, filter, search, fold, label, choose or close."""
        if self._label is not None:
            self._label.handle_input(data)
        elif (
            not self._handle_move(data)
            and not self._handle_filter(data)
            and not self._handle_action(data)
        ):
            self._search.handle_input(data)

    def render(self, width: int) -> list[str]:
        """The search, the rows around the selection, the position, and the label field."""
        self._search.focused = self.focused and self._label is None
        gap = [""] if self._rows() >= _ROOMY else []
        rows = [*self._search.render(width), *gap, *self._visible_rows(width), self._position()]
        if self._label is not None:
            self._label.focused = self.focused
            rows += ["", *self._label.render(width)]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _visible_rows(self, width: int) -> Iterator[str]:
        view = self._view
        if not view.rows:
            yield self._theme.paint("muted")("   No entries")
        most = self._rows()
        first = max(0, min(view.index - most // 2, len(view.rows) - most))
        for index, row in enumerate(view.rows[first : first + most], first):
            arrow = self._theme.paint("accent")("→") if index == view.index else " "
            drawn = draw_row(
                view,
                row,
                self._theme,
                max(width - 3, 1),
                selected=index == view.index,
                times=self._shows_times,
            )
            yield f" {arrow} {drawn}"

    def _position(self) -> str:
        view = self._view
        position = f"({view.index + 1}/{len(view.rows)}) " if view.rows else ""
        return self._theme.paint("dim")(f"   {position}[{view.mode}]")

    def _handle_move(self, data: str) -> bool:
        actions = self._keymap.actions(data)
        view = self._view
        if "app.tree.foldOrUp" in actions:
            view.fold_or_up()
        elif "app.tree.unfoldOrDown" in actions:
            view.unfold_or_down()
        elif "tui.select.up" in actions:
            view.move(-1)
        elif "tui.select.down" in actions:
            view.move(1)
        elif "tui.select.pageUp" in actions or matches_key(data, "left"):
            view.jump(-self._rows())
        elif "tui.select.pageDown" in actions or matches_key(data, "right"):
            view.jump(self._rows())
        else:
            return False
        return True

    def _handle_filter(self, data: str) -> bool:
        actions = self._keymap.actions(data)
        modes = [_FILTERS[action] for action in actions if action in _FILTERS]
        if not any(action.startswith("app.tree.") for action in actions):
            modes = [mode for key, mode in _ALSO.items() if matches_key(data, key)]
        if modes:
            self._view.filter(modes[0])
        elif "app.tree.filter.cycleForward" in actions:
            self._view.cycle_filter(1)
        elif "app.tree.filter.cycleBackward" in actions:
            self._view.cycle_filter(-1)
        else:
            return False
        return True

    def _handle_action(self, data: str) -> bool:
        if self._view.query and len(data) == 1 and data.isprintable():
            return False  # Shift+L and Shift+T are capitals of the search
        actions = self._keymap.actions(data)
        node = self._view.selected
        if "tui.select.confirm" in actions:
            if node is not None:
                self._on_pick(node.id)
        elif "tui.select.cancel" in actions:
            if self._view.query and matches_key(data, "escape"):
                self._search.set_value("")
                self._view.search("")
            else:
                self._on_cancel()
        elif "app.tree.toggleLabelTimestamp" in actions:
            self._shows_times = not self._shows_times
        elif "app.tree.editLabel" in actions:
            self._edit_label()
        else:
            return False
        return True

    def _edit_label(self) -> None:
        node = self._view.selected
        if node is None:
            return

        def close() -> None:
            self._label = None

        def save(text: str) -> None:
            close()
            self._on_label(node.id, one_line(text))

        self._label = Input(
            prompt=" Label: ",
            placeholder="empty removes the label",
            placeholder_paint=self._theme.paint("dim"),
            keymap=self._keymap,
            on_submit=save,
            on_cancel=close,
        )
        self._label.set_value(node.label)
