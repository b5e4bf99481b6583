"""Keys of fullscreen mode: scrolling, jumping, searching."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.input import Input

_MIN_INPUT = 16
"""Columns reserved for the search text before the number of matches is shown."""


class ScrollKeys:
    """An input listener that scrolls a view with the ``tui.altScreen`` keys.

    ``open_search`` is called for the search key.
    """

    def __init__(
        self, view: ScrollView, keymap: Keymap, *, open_search: Callable[[], None]
    ) -> None:
        self._keymap = keymap

        def page(share: float) -> int:
            return max(1, int((view.height - 1) * share))

        self._actions: dict[str, Callable[[], object]] = {
            "pageUp": lambda: view.scroll_by(-page(1)),
            "pageDown": lambda: view.scroll_by(page(1)),
            "halfPageUp": lambda: view.scroll_by(-page(0.5)),
            "halfPageDown": lambda: view.scroll_by(page(0.5)),
            "lineUp": lambda: view.scroll_by(-1),
            "lineDown": lambda: view.scroll_by(1),
            "previousPrompt": lambda: view.jump(-1),
            "nextPrompt": lambda: view.jump(1),
            "top": lambda: view.scroll_to(0),
            "bottom": view.scroll_to_end,
            "search": open_search,
        }

    def __call__(self, data: str) -> InputDecision | None:
        """Handle a key of this mode; other keys pass through."""
        for action in self._keymap.actions(data):
            area, _, name = action.rpartition(".")
            if area == "tui.altScreen" and name in self._actions:
                self._actions[name]()
                return InputDecision(consume=True)
        return None


class SearchBar:
    """A one-row search field. The view highlights the matches."""

    def __init__(self, view: ScrollView, keymap: Keymap, *, close: Callable[[], None]) -> None:
        self._view = view
        self._keymap = keymap
        self._input = Input(
            prompt="Search: ", keymap=keymap, on_change=self._find, on_cancel=self._end
        )
        self.invalidate = self._input.invalidate
        """Discards cached rows."""
        self._close = close
        self._match_position = (0, 0)

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._input.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._input.focused = focused

    def render(self, width: int) -> list[str]:
        """Return the search text and the number of the current match."""
        number, count = self._match_position
        counter = f"  {number}/{count}" if self._input.get_value() else ""
        if width - len(counter) < _MIN_INPUT:
            counter = ""
        (typed,) = self._input.render(width - len(counter))
        return [typed + counter]

    def handle_input(self, data: str) -> None:
        """Edit the text, goe to the next or previous match, or close the bar."""
        if self._keymap.matches(data, "tui.altScreen.searchClose"):
            self._end()
        elif self._keymap.matches(data, "tui.altScreen.searchPrevious"):
            self._match_position = self._view.find(self._input.get_value(), direction=1)
        elif self._keymap.matches(data, "tui.altScreen.searchNext"):
            self._find(self._input.get_value())
        else:
            self._input.handle_input(data)

    def _find(self, text: str) -> None:
        self._match_position = self._view.find(text)

    def _end(self) -> None:
        self._view.find("")
        self._close()
