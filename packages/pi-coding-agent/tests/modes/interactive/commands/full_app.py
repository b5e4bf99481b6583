"""The real application with all of its commands, on a terminal in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pi.modes.interactive.commands.table import BuiltInCommands
from pi.modes.interactive.ui import Ui
from pi.testing import says
from tests.modes.interactive.app_fixture import AppFixture


class FullApp(AppFixture):
    """The application with all commands."""

    def _commands(self, ui: Ui) -> BuiltInCommands:  # type: ignore[override]
        self.commands = BuiltInCommands(ui)  # type: ignore[assignment]
        return BuiltInCommands(ui)


@asynccontextmanager
async def answered_app(
    tmp_path: Path, answer: str = "an answer", *, columns: int = 80, rows: int = 24
) -> AsyncIterator[FullApp]:
    """The application after one prompt and its answer."""
    hosted = FullApp(tmp_path, says(answer), columns=columns, rows=rows)
    async with hosted.running():
        hosted.send("a question")
        await hosted.rests()
        yield hosted
