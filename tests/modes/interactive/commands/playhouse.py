"""The real application with all of its commands, on a terminal in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pi.modes.interactive.commands.table import BuiltInCommands
from pi.modes.interactive.ui import Ui
from pi.testing import says
from tests.modes.interactive.theatre import Theatre


class Playhouse(Theatre):
    """A theatre with all commands."""

    def _commands(self, ui: Ui) -> BuiltInCommands:  # type: ignore[override]
        self.commands = BuiltInCommands(ui)  # type: ignore[assignment]
        return BuiltInCommands(ui)


@asynccontextmanager
async def asked(
    tmp_path: Path, answer: str = "an answer", *, columns: int = 80, rows: int = 24
) -> AsyncIterator[Playhouse]:
    """A play in which a question has been asked and answered."""
    play = Playhouse(tmp_path, says(answer), columns=columns, rows=rows)
    async with play.playing():
        play.send("a question")
        await play.rests()
        yield play
