"""A session with the status engine on the real clock, and invisible rows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pi.base.clock import SystemClock
from pi.batteries.status_engine.adapter import extension
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.ui import ExtensionUI
from pi.coding.runtime.session.agent_session import AgentSession
from pi.extension import Drawable, ExtensionAPI
from pi.testing import make_session

WIDTH = 100


class Rows(ExtensionUI):
    """Keeps the rows of the engine; also the handle that ``set_rows`` returns."""

    has_ui = True

    def __init__(self) -> None:
        self.shown: list[Drawable] = []

    def set_rows(self, key: str, rows: Drawable, **options: Any) -> Rows:
        """Keep the rows."""
        self.shown.append(rows)
        return self

    def invalidate(self) -> None:
        """Do nothing: the rows are drawn with the next frame anyway."""

    def remove(self) -> None:
        """Do nothing: nothing was drawn."""

    def frame(self) -> list[str]:
        """The rows that a screen would show."""
        return [row for rows in self.shown for row in rows.render(WIDTH)]


class Play:
    """A session and its rows; ``pi`` is the API as a second extension has it."""

    def __init__(self, session: AgentSession, rows: Rows, pi: ExtensionAPI) -> None:
        self.session = session
        self.rows = rows
        self.pi = pi


@asynccontextmanager
async def playing(setting: Any) -> AsyncIterator[Play]:
    """A started session with ``setting`` as ``tui.statusEngine``."""
    apis: list[ExtensionAPI] = []
    with TemporaryDirectory() as folder:
        settings = Path(folder) / "home/.pi/agent/settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"tui": {"statusEngine": setting}}))
        options = ExtensionOptions(discover=False, inline=(extension, apis.append))
        session = await make_session(Path(folder), clock=SystemClock(), extensions=options)
        rows = Rows()
        try:
            session.extensions.attach(rows, "tui")
            await session.start()
            yield Play(session, rows, apis[0])
        finally:
            await session.close()
