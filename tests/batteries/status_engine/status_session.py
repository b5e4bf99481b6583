"""A session with the status engine, and a screen that is nothing but rows below a footer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from pi.ai.providers.faux import Step
from pi.batteries.status_engine.adapter import extension
from pi.batteries.status_engine.items import DEFAULT_ITEMS
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.ui import ExtensionUI, Mode
from pi.coding.runtime.session.agent_session import AgentSession
from pi.extension import Drawable, ExtensionAPI
from tests.coding.runtime.session_fixture import SessionFixture

SECONDS = 60.0
"""Longer than anything here takes; a test that waits so long has failed."""
PATIENT = 10_000
"""The longest that a command may take, in milliseconds, so that a busy machine is fast enough."""


class Panel(ExtensionUI):
    """Rows below a footer. ``painted`` counts how often they were said to be others."""

    has_ui = True

    def __init__(self) -> None:
        self.rows: dict[str, Drawable] = {}
        self.notices: list[tuple[str, str | None]] = []
        self.painted = 0

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> PanelRows:
        """Show them."""
        self.rows[key] = rows
        return PanelRows(self, key)

    def notify(self, message: str, kind: Any = None) -> None:
        """They read it."""
        self.notices.append((message, kind))

    def screen(self, width: int = 200) -> list[str]:
        """What a person sees."""
        return [row for drawable in self.rows.values() for row in drawable.render(width)]


class PanelRows:
    """Rows of an extension."""

    def __init__(self, panel: Panel, key: str) -> None:
        self._panel = panel
        self._key = key

    def invalidate(self) -> None:
        """Have them painted."""
        self._panel.painted += 1

    def remove(self) -> None:
        """Have them no longer."""
        self._panel.rows.pop(self._key, None)


class StatusSession:
    """A session that runs with the status engine."""

    def __init__(self, fixture: SessionFixture, session: AgentSession, panel: Panel) -> None:
        self.fixture = fixture
        self.session = session
        self.panel = panel

    async def sees(self, *rows: str) -> None:
        """Until these are the rows; time passes meanwhile, a tick at a time."""
        await self.until(lambda: self.panel.screen() == list(rows))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Let time pass until something has happened."""
        try:
            async with asyncio.timeout(SECONDS):
                while not happened():
                    await self.fixture.clock.advance(0.3)
                    await asyncio.sleep(0.002)  # threads and programs take real time
        except TimeoutError:
            raise AssertionError(f"it never happened; there are {self.panel.screen()}") from None


def with_all_items(setting: Any) -> Any:
    """The setting with every usual item named, so that those of the footer are shown, too."""
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
    """A session that has begun, with ``setting`` as ``tui.statusEngine``."""
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
