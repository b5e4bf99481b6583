"""What dialogs ask of the screen beside what every command may."""

from __future__ import annotations

from typing import Protocol

from pi.modes.interactive.ui import Ui

LEAST_ROWS = 5


class Screen(Ui, Protocol):
    """The screen of the application."""

    @property
    def rows(self) -> int:
        """How high it is."""
        ...


def list_rows(ui: Screen) -> int:
    """How many rows of a list a dialog shows: half of the screen."""
    return max(LEAST_ROWS, ui.rows // 2)
