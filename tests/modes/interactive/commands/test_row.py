"""Rows of the command table."""

from __future__ import annotations

from pi.modes.interactive.commands.row import CommandRow
from pi.modes.interactive.ui import Ui


async def _nothing(ui: Ui, arguments: str) -> None:
    """Does nothing."""


def test_a_command_is_in_the_menu_unless_it_says_otherwise() -> None:
    row = CommandRow(name="x", description="does x", run=_nothing)
    assert (row.listed, row.hint, row.complete) == (True, "", None)
