"""Remembers the rows of a widget until it changes or the width does."""

from __future__ import annotations

from collections.abc import Callable


class RowMemory:
    """The rows of the last rendering; the same list again tells the screen that nothing changed."""

    def __init__(self) -> None:
        self._width = -1
        self._rows: list[str] = []

    def rows(self, width: int, draw: Callable[[int], list[str]]) -> list[str]:
        """The remembered rows, or those that ``draw`` makes if there are none for this width."""
        if width != self._width:
            self._rows = draw(width)
            self._width = width
        return self._rows

    def forget(self) -> None:
        """Draw again next time."""
        self._width = -1
