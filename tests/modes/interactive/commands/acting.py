"""A session and a screen to run commands on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pi.agent.events import ToolExecutionStart
from pi.ai.providers.faux import Step
from pi.coding.runtime.session.agent_session import AgentSession
from pi.modes.interactive.commands.table import BuiltInCommands
from pi.testing import calls
from tests.coding.runtime.stage import ENVIRON, Stage
from tests.modes.interactive.fake_screen import FakeScreen


class Acting:
    """Runs commands as the application does."""

    def __init__(self, stage: Stage, session: AgentSession, tmp_path: Path) -> None:
        self.stage = stage
        self.session = session
        self.screen = FakeScreen(tmp_path, session, stage.host)
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
        """What was reported last."""
        return self.screen.notices[-1][1]


@asynccontextmanager
async def acting(tmp_path: Path, *steps: Step, **options: bool) -> AsyncIterator[Acting]:
    """A session with a script, and its screen."""
    stage = Stage(tmp_path, *steps, environ={**ENVIRON, "PI_OFFLINE": "1"})
    session = await stage.open(persistent=options.get("persistent", True))
    try:
        yield Acting(stage, session, tmp_path)
    finally:
        await session.close()


@asynccontextmanager
async def at_work(tmp_path: Path) -> AsyncIterator[Acting]:
    """The same while the agent runs a command that does not end by itself."""
    async with acting(tmp_path, calls("bash", command="sleep 60")) as on:
        started = on.stage.seen(on.session, ToolExecutionStart)
        run = asyncio.create_task(on.session.prompts.prompt("go"))
        await started.wait()
        try:
            yield on
        finally:
            await on.session.abort()
            await run
