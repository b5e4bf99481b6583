"""Empty rows."""

from __future__ import annotations


class Spacer:
    """Nothing, for a number of rows."""

    def __init__(self, rows: int = 1) -> None:
        self.set_rows(rows)

    def set_rows(self, rows: int) -> None:
        """Take another number of rows."""
        self._rows = [""] * rows

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """Empty rows."""
        return self._rows
