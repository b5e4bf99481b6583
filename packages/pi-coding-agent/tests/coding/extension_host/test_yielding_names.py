"""Commands of bundled extensions yield to commands and templates of the same name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import Candidate, ExtensionOptions
from pi.coding.resources.sources import SourceInfo
from pi.coding.runtime.session.agent_session import AgentSession
from tests.coding.extension_host.extension_session import FakeUI
from tests.coding.runtime.session_fixture import SessionFixture

OWN_TODO = """\
def extension(pi):
    @pi.command("todo")
    async def todo(args, ctx):
        ctx.ui.notify(f"mine: {args}")
"""


def bundled(pi: ExtensionAPI) -> None:
    @pi.command("todo", completions=lambda typed: ["add", "clear"])
    async def todo(args: str, ctx: Any) -> None:
        ctx.ui.notify(f"bundled: {args}")


BUNDLED = Candidate(
    name="todo", rank="bundled", source=SourceInfo(path="<bundled:todo>"), factory=bundled
)


@asynccontextmanager
async def using(fixture: SessionFixture, ui: FakeUI | None = None) -> AsyncIterator[AgentSession]:
    session = await fixture.open(approve=True, extensions=ExtensionOptions(candidates=(BUNDLED,)))
    session.extensions.attach(ui or FakeUI(), "rpc")
    await session.start()
    try:
        yield session
    finally:
        await session.close()


def names(session: AgentSession) -> set[str]:
    return {command.name for command in session.info.commands() if "todo" in command.name}


def asked(fixture: SessionFixture) -> list[str]:
    messages = fixture.provider.requests[-1].messages
    return [m.content[0].text for m in messages if isinstance(m, UserMessage)]  # type: ignore[union-attr]


@pytest.mark.parametrize("folder", [".pi/agent/prompts", "project/.pi/prompts"])
async def test_a_template_keeps_its_name_beside_a_bundled_command(
    tmp_path: Path, folder: str
) -> None:
    fixture = SessionFixture(tmp_path, says("done"))
    fixture.write(f"{folder}/todo.md", "List what is to do: $1")
    ui = FakeUI()
    async with using(fixture, ui) as session:
        assert names(session) == {"todo", "pi:todo"}
        await session.prompt("/todo today")
        assert asked(fixture) == ["List what is to do: today"]

        await session.prompt("/pi:todo")
        assert len(fixture.provider.requests) == 1  # it is a command, not a prompt
        assert ui.seen == [("notify", "bundled: ")]
        assert await session.extensions.completions("pi:todo", "") != ()
        assert await session.extensions.completions("todo", "") == ()


async def test_a_command_of_a_user_keeps_its_name_beside_a_bundled_command(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(".pi/agent/extensions/mine.py", OWN_TODO)
    ui = FakeUI()
    async with using(fixture, ui) as session:
        await session.prompt("/todo x")
        await session.prompt("/pi:todo y")

        assert names(session) == {"todo", "pi:todo"}
        assert ui.seen == [("notify", "mine: x"), ("notify", "bundled: y")]


async def test_a_bundled_command_without_a_conflict_is_available_under_both_names(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    ui = FakeUI()
    async with using(fixture, ui) as session:
        assert names(session) == {"todo"}
        await session.prompt("/todo x")
        await session.prompt("/pi:todo x")

        assert ui.seen == [("notify", "bundled: x")] * 2
