"""Remembers the rows of a widget until it changes or the width does."""

from __future__ import annotations

from collections.abc import Callable


class RowMemory:
    """The rows of the last rendering; the same list again tells the screen that nothing changed."""

    def __init__(self) -> None:
        self._drawn_for: tuple[object, ...] | None = None
        self._rows: list[str] = []

    def rows(
        self, width: int, draw: Callable[[int], list[str]], *circumstances: object
    ) -> list[str]:
        """The remembered rows, or those that ``draw`` makes for another width or circumstances."""
        wanted = (width, *circumstances)
        if wanted != self._drawn_for:
            self._rows = draw(width)
            self._drawn_for = wanted
        return self._rows

    def forget(self) -> None:
        """Draw again next time."""
        self._drawn_for = None
