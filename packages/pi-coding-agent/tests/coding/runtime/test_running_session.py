"""A session as a whole: aborting, retrying, closing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.coding.extension_host.events.session import SessionShutdownEvent, SessionStartEvent
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture


async def test_abort_ends_the_run_and_waits_for_its_end(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, calls("bash", command="sleep 60"))
    session = await fixture.open()
    started = fixture.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    await session.abort()

    assert not session.info.state().is_streaming
    await run
    await session.close()


async def test_session_start_and_shutdown_are_emitted_once(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    received: list[object] = []
    fixture.bus.subscribe(SessionStartEvent, received.append)
    fixture.bus.subscribe(SessionShutdownEvent, received.append)
    session = await fixture.open()
    await session.start()
    await session.wait_for_idle()
    await session.close()
    await session.close()

    assert received == [SessionStartEvent(reason="startup"), SessionShutdownEvent(reason="quit")]


@pytest.mark.behaviour("damaged-session-can-close")
async def test_closing_stops_a_command_that_is_still_running(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    begun: asyncio.Queue[str] = asyncio.Queue()
    work = asyncio.create_task(session.shell.run("echo go; sleep 60", on_text=begun.put_nowait))
    await begun.get()
    await session.close()

    assert (await work).cancelled


async def test_a_session_is_exported_without_secrets(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path, says("a"), environ={"PATH": "/bin", "OPENAI_API_KEY": "sk-very-secret"}
    )
    session = await fixture.open()
    await session.prompts.prompt("my key is sk-very-secret")
    page = await session.exports.write()
    text = await session.exports.write(str(tmp_path / "out.md"))
    await session.close()

    assert page.parent == fixture.cwd
    assert page.read_text().startswith("<!")
    assert "sk-very-secret" not in page.read_text() + text.read_text()
