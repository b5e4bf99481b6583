"""What the keys of the fullscreen mode do: scroll, jump, search."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.input import Input

_MIN_INPUT = 16
"""Columns for what is searched for, before it is told what was found."""


class ScrollKeys:
    """An input listener that scrolls a view with the keys of ``tui.altScreen``.

    ``open_search`` is called for the key that begins a search.
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
        """Act on a key of this mode; others pass."""
        for action in self._keymap.actions(data):
            area, _, name = action.rpartition(".")
            if area == "tui.altScreen" and name in self._actions:
                self._actions[name]()
                return InputDecision(consume=True)
        return None


class SearchBar:
    """One row in which a text to search for is typed; the view shows the places meanwhile."""

    def __init__(self, view: ScrollView, keymap: Keymap, *, close: Callable[[], None]) -> None:
        self._view = view
        self._keymap = keymap
        self._input = Input(
            prompt="Search: ", keymap=keymap, on_change=self._find, on_cancel=self._end
        )
        self._close = close
        self._found = (0, 0)

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._input.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._input.focused = focused

    def render(self, width: int) -> list[str]:
        """The text, and which of how many places is shown."""
        number, count = self._found
        places = f"  {number}/{count}" if self._input.get_value() else ""
        if width - len(places) < _MIN_INPUT:
            places = ""
        (typed,) = self._input.render(width - len(places))
        return [typed + places]

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._input.invalidate()

    def handle_input(self, data: str) -> None:
        """Type, go to the next or previous place, or close."""
        if self._keymap.matches(data, "tui.altScreen.searchClose"):
            self._end()
        elif self._keymap.matches(data, "tui.altScreen.searchPrevious"):
            self._found = self._view.find(self._input.get_value(), direction=1)
        elif self._keymap.matches(data, "tui.altScreen.searchNext"):
            self._find(self._input.get_value())
        else:
            self._input.handle_input(data)

    def _find(self, text: str) -> None:
        self._found = self._view.find(text)

    def _end(self) -> None:
        self._view.find("")
        self._close()
