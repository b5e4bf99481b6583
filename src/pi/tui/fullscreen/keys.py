"""What the keys of the fullscreen mode do: scroll, jump, search."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.tui.component import CURSOR_MARKER
from pi.tui.fullscreen.scroll_view import ScrollView
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import matches_key, printable_text
from pi.tui.input_pump import InputDecision
from pi.tui.text.slicing import slice_columns


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
            "bottom": lambda: view.scroll_to(1 << 30),
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
        self.focused = False
        self._view = view
        self._keymap = keymap
        self._close = close
        self._text = ""
        self._found = (0, 0)

    def render(self, width: int) -> list[str]:
        """The text, and which of how many places is shown."""
        number, count = self._found
        marker = CURSOR_MARKER if self.focused else ""
        places = f"  {number}/{count}" if self._text else ""
        return [slice_columns(f"Search: {self._text}{marker}{places}", 0, width)]

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def handle_input(self, data: str) -> None:
        """Type, go to the next or previous place, or close."""
        if self._keymap.matches(data, "tui.altScreen.searchClose"):
            self._view.find("")
            self._close()
        elif self._keymap.matches(data, "tui.altScreen.searchPrevious"):
            self._found = self._view.find(self._text, direction=1)
        elif self._keymap.matches(data, "tui.altScreen.searchNext"):
            self._found = self._view.find(self._text)
        else:
            self._type(data)

    def _type(self, data: str) -> None:
        if matches_key(data, "backspace"):
            self._text = self._text[:-1]
        elif typed := one_line(printable_text(data)) or (" " if data == " " else ""):
            self._text += typed
        else:
            return
        self._found = self._view.find(self._text)
