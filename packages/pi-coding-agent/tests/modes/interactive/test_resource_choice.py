"""Switching resources of packages on and off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pi.base.errors import PiError
from pi.modes.interactive.resource_config import PackageResource, choose_resources
from pi.tui.testing import VirtualTerminal

RESOURCES = [
    PackageResource(path="skills/a/SKILL.md", about="skills of npm:tips (user)", is_on=True),
    PackageResource(path="prompts/b.md", about="prompts of npm:tips (user)", is_on=False),
]


class ResourceFixture:
    """Records switched resources; ``fails`` makes switching fail."""

    def __init__(self) -> None:
        self.terminal = VirtualTerminal(80, 24)
        self.switched: list[tuple[int, bool]] = []
        self.fails = False

    @asynccontextmanager
    async def open(self, agent_dir: Path) -> AsyncIterator[asyncio.Task[None]]:
        """The list on the screen."""
        choice = choose_resources(
            RESOURCES,
            self._switch,
            self.terminal,
            environ={"TERM": "xterm-256color"},
            agent_dir=agent_dir,
        )
        work = asyncio.ensure_future(choice)
        await self.until(lambda: "Enter/Space" in self.screen)
        yield work
        async with asyncio.timeout(30):
            await work

    @property
    def screen(self) -> str:
        return "\n".join(self.terminal.screen)

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not happened():  # noqa: ASYNC110 - the screen shows no one
                await asyncio.sleep(0.001)

    async def _switch(self, index: int, *, on: bool) -> None:
        if self.fails:
            raise PiError("The disk is full.", hint="Make room.")
        self.switched.append((index, on))


async def test_every_change_is_made_at_once_in_its_order(tmp_path: Path) -> None:
    kit = ResourceFixture()
    async with kit.open(tmp_path):
        assert "→ skills/a/SKILL.md  [x] skills of npm:tips (user)" in kit.screen
        assert "  prompts/b.md       [ ] prompts of npm:tips (user)" in kit.screen
        kit.terminal.type(" \x1b[B\r \x1b")
        await kit.until(lambda: kit.terminal.screen[0] == "")

    assert kit.switched == [(0, False), (1, True), (1, False)]


async def test_a_change_that_fails_is_reported_and_not_shown(tmp_path: Path) -> None:
    kit = ResourceFixture()
    async with kit.open(tmp_path):
        kit.fails = True
        kit.terminal.type("\r")
        await kit.until(lambda: "The disk is full. Make room." in kit.screen)
        assert "→ skills/a/SKILL.md  [x] skills" in kit.screen
        kit.terminal.type("\x03")

    assert kit.switched == []


async def test_typing_looks_for_a_resource(tmp_path: Path) -> None:
    kit = ResourceFixture()
    async with kit.open(tmp_path):
        kit.terminal.type("prom")
        await kit.until(lambda: "skills/a/SKILL.md" not in kit.screen)
        assert "→ prompts/b.md" in kit.screen
        kit.terminal.type("\x03")
