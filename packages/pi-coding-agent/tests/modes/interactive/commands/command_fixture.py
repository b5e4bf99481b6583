"""A session and a screen to run commands on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.agent.events import ToolExecutionStart
from pi.ai.providers.faux import Step
from pi.coding.runtime.session.agent_session import AgentSession
from pi.modes.interactive.commands.table import BuiltInCommands
from pi.testing import calls
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture
from tests.modes.interactive.fake_screen import FakeScreen


class CommandFixture:
    """Runs commands as the application does."""

    def __init__(self, fixture: SessionFixture, session: AgentSession, tmp_path: Path) -> None:
        self.fixture = fixture
        self.session = session
        self.screen = FakeScreen(tmp_path, session, fixture.host)
        self.commands = BuiltInCommands(self.screen)

    def start(self, line: str) -> asyncio.Task[None]:
        """Run a command that asks something."""
        name, _, arguments = line.removeprefix("/").partition(" ")
        work = self.commands.find(name, arguments)
        assert work is not None, line
        return asyncio.create_task(work)

    async def run(self, line: str, *keys: str) -> None:
        """Run a command, type keys into what it shows, and wait for its end."""
        task = self.start(line)
        for key in keys:
            await self.screen.press(key)
        async with asyncio.timeout(30):
            await task

    @property
    def last_notice(self) -> str:
        """The last notice."""
        return self.screen.notices[-1][1]


@asynccontextmanager
async def command_fixture(
    tmp_path: Path, *steps: Step, persistent: bool = True, **options: Any
) -> AsyncIterator[CommandFixture]:
    """A session with a script, and its screen."""
    fixture = SessionFixture(tmp_path, *steps, environ={**ENVIRON, "PI_OFFLINE": "1"})
    session = await fixture.open(persistent=persistent, **options)
    try:
        yield CommandFixture(fixture, session, tmp_path)
    finally:
        await session.close()


@asynccontextmanager
async def at_work(tmp_path: Path) -> AsyncIterator[CommandFixture]:
    """The same while the agent runs a command that does not end by itself."""
    async with command_fixture(tmp_path, calls("bash", command="sleep 60")) as on:
        started = on.fixture.seen(on.session, ToolExecutionStart)
        run = asyncio.create_task(on.session.prompts.prompt("go"))
        await started.wait()
        try:
            yield on
        finally:
            await on.session.abort()
            await run
