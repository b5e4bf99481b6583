"""The status lines on the real screen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from pi.batteries.status_engine.adapter import extension
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.batteries.status_engine.git.repository import make_repository
from tests.batteries.status_engine.status_session import PATIENT, SECONDS, with_all_items
from tests.modes.interactive.app_fixture import AppFixture

LINE_2 = "faux | medium | project"


class StatusAppFixture(AppFixture):
    """The application with the status engine."""

    def __init__(self, tmp_path: Path, setting: Any, **options: Any) -> None:
        requested = ExtensionOptions(discover=False, inline=(extension,))
        super().__init__(tmp_path, extensions=requested, **options)
        settings = json.dumps({"tui": {"statusEngine": with_all_items(setting)}})
        self.fixture.write(".pi/agent/settings.json", settings)
        self.begin = self._begin

    async def ends_with(self, *rows: str) -> None:
        """Advance the clock until these are the last rows of the screen."""
        try:
            async with asyncio.timeout(SECONDS):
                while tuple(self.screen.splitlines()[-len(rows) :]) != rows:
                    await self.clock.advance(0.3)
                    await asyncio.sleep(0.01)  # frames and programs take real time
        except TimeoutError:
            raise AssertionError(f"it never happened; the screen shows:\n{self.screen}") from None

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()


def asking(command: str) -> dict[str, Any]:
    return {"provider": "command", "command": command, "commandTimeoutMs": PATIENT}


async def test_the_lines_are_shown_below_the_footer(tmp_path: Path) -> None:
    make_repository(tmp_path / "home" / "project")
    app_fixture = StatusAppFixture(tmp_path, asking("printf '\\033[32mnetwork\\033[0m ok'"))
    async with app_fixture.running():
        await app_fixture.ends_with(f"{LINE_2} | main +0 -0", "network ok")

        line1 = app_fixture.screen.splitlines()[-3]
        assert line1 == "context 0% of 128k"  # nothing is shown twice


async def test_on_a_very_low_screen_only_the_footer_is_shown(tmp_path: Path) -> None:
    app_fixture = StatusAppFixture(tmp_path, True, rows=7)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux • medium")
        await app_fixture.clock.advance(1)
        await app_fixture.quiet()

        assert LINE_2 not in app_fixture.screen


async def test_a_changed_line_3_repaints_only_its_row(tmp_path: Path) -> None:
    file = tmp_path / "line"
    file.write_text("before")
    app_fixture = StatusAppFixture(tmp_path, {"file": str(file)})
    async with app_fixture.running():
        await app_fixture.ends_with(LINE_2, "before")
        await app_fixture.quiet()
        written = len(app_fixture.terminal.output)

        file.write_text("after")
        await app_fixture.ends_with(LINE_2, "after")

        painted = "".join(app_fixture.terminal.output[written:])
        assert "after" in painted
        assert [text for text in (LINE_2, "faux •", "\x1b[2J", "\x1b[J") if text in painted] == []


async def test_typing_works_while_a_command_hangs(tmp_path: Path) -> None:
    app_fixture = StatusAppFixture(tmp_path, asking("cat gate"))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.type("typed meanwhile")
        await app_fixture.sees("typed meanwhile")
        await gate.open("at last")
        await app_fixture.ends_with(LINE_2, "at last")
