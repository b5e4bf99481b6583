"""A selection that moves through a list of which only a part is visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pi.tui.input.keymap import Keymap

Most: TypeAlias = int | Callable[[], int]
"""How many rows may be visible: always as many, or what a look at the screen says."""


class Selection:
    """Which row of a list is selected, and which rows are visible."""

    def __init__(self, max_visible: Most, keymap: Keymap) -> None:
        self.index = 0
        """The selected row; 0 in an empty list."""
        self._count = 0
        self._most = max_visible
        self._keymap = keymap

    @property
    def room(self) -> int:
        """How many rows may be visible."""
        return max(self._most() if callable(self._most) else self._most, 1)

    def resize(self, count: int) -> None:
        """Say how many rows the list has; the selection stays inside."""
        self._count = count
        self.select(self.index)

    def select(self, index: int) -> None:
        """Go to a row, or to the nearest there is."""
        self.index = max(min(index, self._count - 1), 0)

    def handle_input(self, data: str) -> bool:
        """Move if the key says so; whether it was such a key. Up and down go round in circles."""
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
        """The rows to draw, with the selected one in the middle where possible."""
        room = self.room
        last_start = max(self._count - room, 0)
        start = max(min(self.index - room // 2, last_start), 0)
        return range(start, min(start + room, self._count))

    @property
    def position(self) -> str:
        """``(i/n)`` if not all rows are visible, else nothing."""
        return f"({self.index + 1}/{self._count})" if self._count > self.room else ""
