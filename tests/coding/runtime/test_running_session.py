"""A session as a whole: aborting, retrying, closing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.ai.errors import ProviderUnavailable
from pi.coding.runtime.events import SessionEnding, SessionStarted
from pi.testing import calls, says
from tests.coding.runtime.stage import Stage, kinds

DOWN = ProviderUnavailable("503: overloaded", status=503)


@pytest.mark.trap(85)
async def test_a_failed_answer_is_asked_for_again_and_leaves_the_context(tmp_path: Path) -> None:
    stage = Stage(tmp_path, DOWN, says("recovered"))
    session = await stage.open()
    run = asyncio.create_task(session.prompts.prompt("hi"))
    await stage.clock.advance(2)
    await run

    assert kinds(session)[3:] == ["user", "assistant", "context_edit", "assistant"]
    assert "503" not in str(stage.provider.requests[1].messages)
    start, entry = stage.order.index("auto_retry_start"), stage.order.index("entry_appended")
    assert start < entry
    await session.close()


async def test_a_retry_can_be_given_up_and_switched_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path, DOWN, DOWN)
    session = await stage.open()
    run = asyncio.create_task(session.prompts.prompt("hi"))
    await stage.clock.advance(1)
    await session.abort_retry()
    await run
    session.set_auto_retry(enabled=False)
    await session.prompts.prompt("again")

    assert stage.order.count("auto_retry_start") == 1
    await session.close()


async def test_an_abort_ends_what_is_under_way_and_waits_for_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, calls("bash", command="sleep 60"))
    session = await stage.open()
    started = stage.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    await session.abort()

    assert not session.facts.state().is_streaming
    await run
    await session.close()


async def test_queue_modes_hold_at_once_and_for_this_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    session.set_queue_modes(steering="all", follow_up="all")
    state = session.facts.state()

    assert (state.steering_mode, state.follow_up_mode) == ("all", "all")
    assert session.settings.values.steering_mode == "all"
    assert not (stage.agent_dir / "settings.json").exists()
    await session.close()


async def test_everybody_hears_of_the_beginning_and_the_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    heard: list[object] = []
    stage.bus.on(SessionStarted, heard.append)
    stage.bus.on(SessionEnding, heard.append)
    session = await stage.open()
    await session.start()
    await session.wait_for_idle()
    await session.close()
    await session.close()

    assert heard == [SessionStarted(reason="startup"), SessionEnding(reason="quit")]


@pytest.mark.trap(211)
async def test_closing_stops_a_command_that_is_still_running(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    begun: asyncio.Queue[str] = asyncio.Queue()
    work = asyncio.create_task(session.shell.run("echo go; sleep 60", on_text=begun.put_nowait))
    await begun.get()
    await session.close()

    assert (await work).cancelled


async def test_a_session_can_be_exported(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), environ={"PATH": "/bin", "OPENAI_API_KEY": "sk-very-secret"})
    session = await stage.open()
    await session.prompts.prompt("my key is sk-very-secret")
    page = await session.export()
    text = await session.export(str(tmp_path / "out.md"))
    await session.close()

    assert page.parent == stage.cwd
    assert page.read_text().startswith("<!")
    assert "sk-very-secret" not in page.read_text() + text.read_text()
