"""A session with the status engine, and a screen with only the rows below the footer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from pi.ai.providers.faux import Step
from pi.batteries.status_engine.adapter import extension
from pi.batteries.status_engine.items import DEFAULT_ITEMS
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.ui import ExtensionUI, Mode
from pi.coding.runtime.session.agent_session import AgentSession
from pi.extension import Drawable, ExtensionAPI, FooterPart
from tests.coding.runtime.session_fixture import SessionFixture

SECONDS = 60.0
"""Longer than anything here takes; a test that waits so long has failed."""
PATIENT = 10_000
"""The longest that a command may take, in milliseconds, so that a busy machine is fast enough."""


class Panel(ExtensionUI):
    """Rows below the footer. ``painted`` counts the requests to repaint them."""

    has_ui = True

    def __init__(self) -> None:
        self.rows: dict[str, Drawable] = {}
        self.notices: list[tuple[str, str | None]] = []
        self.painted = 0

    def set_rows(
        self,
        key: str,
        rows: Drawable,
        *,
        where: Literal["footer"] = "footer",
        order: int = 0,
        replaces: Sequence[FooterPart] = (),
    ) -> PanelRows:
        """Show these rows."""
        self.rows[key] = rows
        return PanelRows(self, key)

    def notify(self, message: str, kind: Any = None) -> None:
        """Record the notice."""
        self.notices.append((message, kind))

    def screen(self, width: int = 200) -> list[str]:
        """The rows as plain text."""
        return [row for drawable in self.rows.values() for row in drawable.render(width)]


class PanelRows:
    """Rows of an extension."""

    def __init__(self, panel: Panel, key: str) -> None:
        self._panel = panel
        self._key = key

    def invalidate(self) -> None:
        """Request a repaint."""
        self._panel.painted += 1

    def remove(self) -> None:
        """Remove the rows."""
        self._panel.rows.pop(self._key, None)


class StatusSession:
    """A session that runs with the status engine."""

    def __init__(self, fixture: SessionFixture, session: AgentSession, panel: Panel) -> None:
        self.fixture = fixture
        self.session = session
        self.panel = panel

    async def sees(self, *rows: str) -> None:
        """Advance the clock tick by tick until these rows are shown."""
        await self.until(lambda: self.panel.screen() == list(rows))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Advance the clock until a condition is true."""
        try:
            async with asyncio.timeout(SECONDS):
                while not happened():
                    await self.fixture.clock.advance(0.3)
                    await asyncio.sleep(0.002)  # threads and programs take real time
        except TimeoutError:
            raise AssertionError(f"it never happened; there are {self.panel.screen()}") from None


def with_all_items(setting: Any) -> Any:
    """The setting with every default item listed, so that items of the footer are shown as well."""
    if setting is True:
        return {"items": [*DEFAULT_ITEMS]}
    return {"items": [*DEFAULT_ITEMS], **setting} if isinstance(setting, dict) else setting


@asynccontextmanager
async def status_session(
    tmp_path: Path,
    setting: Any,
    *steps: Step,
    beside: tuple[Callable[[ExtensionAPI], Any], ...] = (),
    mode: Mode = "tui",
    **options: Any,
) -> AsyncIterator[StatusSession]:
    """A started session with ``setting`` as ``tui.statusEngine``."""
    fixture = SessionFixture(tmp_path, *steps)
    named = with_all_items(setting)
    fixture.write(".pi/agent/settings.json", json.dumps({"tui": {"statusEngine": named}}))
    requested = ExtensionOptions(discover=False, inline=(extension, *beside))
    session = await fixture.open(extensions=requested, **options)
    panel = Panel()
    try:
        session.extensions.attach(panel, mode)
        await session.start()
        yield StatusSession(fixture, session, panel)
    finally:
        await session.close()
