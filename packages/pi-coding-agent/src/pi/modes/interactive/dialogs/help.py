"""The page of keys and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.modes.interactive.dialogs.history_search import HELP
from pi.modes.interactive.dialogs.panel import list_rows, make_panel
from pi.modes.interactive.dialogs.reports import Section, SectionsView
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.text.width import truncate_to_width


async def show_help(ui: Ui, sections: Sequence[Section]) -> str:
    """Show keys and commands; returns text to type, if a letter closed the help."""

    def build(done: Callable[[str], None]) -> Component:
        inside = ScrollingHelp(
            SectionsView(ui.theme, sections), ui.keymap, lambda: list_rows(ui), done
        )
        keys = (
            ("tui.select.down", "scroll"),
            ("tui.select.pageDown", "page"),
            ("tui.select.cancel", "close"),
        )
        return make_panel(ui, "Help", inside, lambda: keys, aside=lambda: inside.position)

    return await ui.show(build)


_USUAL_WIDTH = 80
"""Width for the number of rows before the first drawing."""


class ScrollingHelp:
    """A part of a long list; keys scroll it, and any other key closes it."""

    def __init__(
        self,
        content: SectionsView,
        keymap: Keymap,
        rows: Callable[[], int],
        done: Callable[[str], None],
    ) -> None:
        self._content = content
        self._keymap = keymap
        self._rows = rows
        self._done = done
        self._top = 0
        self._height = len(content.render(_USUAL_WIDTH)) - 1
        """Rows of the whole list when it was last drawn."""
        self.invalidate = self._content.invalidate
        """Invalidates the cached rows."""

    @property
    def position(self) -> str:
        """The visible rows, such as ``1-12 of 90``; empty if all are visible."""
        last = min(self._top + self._rows(), self._height)
        return f"{self._top + 1}-{last} of {self._height}" if self._height > self._rows() else ""

    def handle_input(self, data: str) -> None:
        """Scroll or close."""
        steps = {
            "tui.select.up": -1,
            "tui.select.down": 1,
            "tui.select.pageUp": -self._rows(),
            "tui.select.pageDown": self._rows(),
        }
        actions = self._keymap.actions(data)
        step = next((steps[action] for action in actions if action in steps), None)
        if step is not None:
            self._top = max(min(self._top + step, self._height - self._rows()), 0)
        elif not is_key_release(data):
            closes = HELP in actions or any(action.startswith("tui.select.") for action in actions)
            self._done("" if closes else printable_text(data))

    def render(self, width: int) -> list[str]:
        """Return the visible rows."""
        rows = self._content.render(width)[1:]  # the panel has a gap of its own
        self._height = len(rows)
        self._top = max(min(self._top, self._height - self._rows()), 0)
        visible_rows = rows[self._top : self._top + self._rows()]
        return [truncate_to_width(row, width, "…") for row in visible_rows]
