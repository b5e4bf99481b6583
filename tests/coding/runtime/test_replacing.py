"""Another session in the place of this one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.events import ToolExecutionStart
from pi.base.errors import PiError
from pi.coding.runtime.events import (
    BeforeSwitch,
    SessionEnding,
    SessionStarted,
    SwitchDecision,
    Switched,
)
from pi.coding.session.errors import CannotFork, SessionInUse
from pi.testing import calls, says
from tests.coding.runtime.stage import Stage, kinds


async def test_a_new_session_knows_its_parent_and_starts_its_clock_anew(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    session = await stage.open()
    await session.prompts.prompt("sunflower")
    first = session.facts.file
    await stage.clock.advance(5)
    assert session.since_session_ms() == 5000
    replaced = await session.sessions.new("/some/parent.jsonl")

    assert not replaced.cancelled
    assert session.since_session_ms() == 0
    assert session.facts.header.parent_session == "/some/parent.jsonl"
    assert kinds(session) == ["model_change", "thinking_level_change"]
    assert session.facts.file != first
    await session.prompts.prompt("new")
    assert "sunflower" not in str(stage.provider.requests[1].messages)
    await session.close()


@pytest.mark.trap(215)
async def test_a_fork_goes_on_before_a_message_and_gives_its_words(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"), says("c"))
    session = await stage.open()
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    original = session.facts.file
    assert original is not None
    before = original.read_bytes()
    forked = await session.sessions.fork(session.facts.fork_points()[1].entry_id)

    assert forked.text == "two"
    assert [point.text for point in session.facts.fork_points()] == ["one"]
    assert session.facts.header.parent_session == str(original)
    await session.prompts.prompt("instead")
    assert original.read_bytes() == before
    await session.close()


async def test_a_clone_has_the_whole_branch(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("one")
    before = kinds(session)
    await session.sessions.clone()

    assert kinds(session) == before
    await session.close()


async def test_a_session_that_somebody_else_has_open_can_be_gone_on_with_in_a_copy(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    theirs = await stage.open()
    await theirs.prompts.prompt("one")
    file = theirs.facts.file
    assert file is not None
    mine = await stage.open()
    with pytest.raises(SessionInUse):
        await mine.sessions.switch(file)

    await mine.sessions.fork_file(file)

    assert mine.facts.header.parent_session == str(file)
    assert [point.text for point in mine.facts.fork_points()] == ["one"]
    before = file.read_bytes()
    await mine.prompts.prompt("two")
    assert file.read_bytes() == before
    await mine.close()
    await theirs.close()


async def test_going_back_to_an_earlier_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    session = await stage.open()
    await session.prompts.prompt("one")
    first = session.facts.file
    assert first is not None
    await session.sessions.new()
    started: list[object] = []
    stage.bus.on(SessionStarted, started.append)
    stage.bus.on(Switched, started.append)
    await session.sessions.switch(first)

    assert session.facts.file == first
    assert [point.text for point in session.facts.fork_points()] == ["one"]
    assert started == [
        Switched(reason="resume", previous_session_file=None),
        SessionStarted(reason="resume", previous_session_file=None),
    ]
    await session.close()


@pytest.mark.trap(91)
async def test_leaving_during_a_turn_ends_and_records_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, calls("bash", command="echo begun; sleep 60"))
    session = await stage.open()
    started = stage.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    first = session.facts.file
    assert first is not None
    await session.sessions.new()
    await run
    await session.close()

    assert '"toolResult"' in first.read_text()
    assert '"user"' not in "".join(kinds(session))


async def test_a_handler_may_keep_the_session_as_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("one")
    stage.bus.on(BeforeSwitch, lambda question: SwitchDecision(cancel=True))
    id = session.facts.header.id

    assert (await session.sessions.new()).cancelled
    assert (await session.sessions.clone()).cancelled
    assert session.facts.file is not None
    assert (await session.sessions.fork_file(session.facts.file)).cancelled
    assert session.facts.header.id == id
    await session.close()


async def test_only_what_the_person_said_can_be_forked_from(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    with pytest.raises(PiError, match="Invalid entry ID for forking"):
        await session.sessions.fork("nope")
    with pytest.raises(PiError, match="not been saved yet"):
        await session.sessions.clone()
    await session.prompts.prompt("one")
    with pytest.raises((PiError, CannotFork), match="Invalid entry ID"):
        await session.sessions.fork(session.facts.leaf_id or "")
    await session.close()


@pytest.mark.trap(222)
async def test_a_new_session_from_an_ephemeral_one_stays_ephemeral(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    session = await stage.open(persistent=False)
    await session.prompts.prompt("one")
    await session.sessions.clone()
    await session.sessions.new()
    await session.prompts.prompt("two")
    await session.close()

    assert session.facts.file is None
    assert not (stage.agent_dir / "sessions").exists()


async def test_a_hand_off_goes_on_in_a_new_session_that_begins_with_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"), says("b"))
    session = await stage.open()
    await session.prompts.prompt("one")
    first = session.facts.file
    await session.sessions.hand_off("Go on with the wall.")
    await session.prompts.prompt("go")
    await session.close()

    assert session.facts.header.parent_session == str(first)
    asked = str(stage.provider.requests[1].messages)
    assert "Go on with the wall." in asked
    assert "'one'" not in asked


async def test_a_file_from_elsewhere_is_copied_and_gone_on_with(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("sunflower")
    assert session.facts.file is not None
    path = stage.write("elsewhere.jsonl", session.facts.file.read_text())
    before = path.read_bytes()
    await session.sessions.new()
    replaced = await session.sessions.take_in(path)

    assert not replaced.cancelled
    assert session.facts.file not in (None, path)
    assert "user" in kinds(session)
    assert path.read_bytes() == before
    await session.close()


async def test_a_reload_reads_files_again_and_stays_in_the_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("hi")
    before = session.session_id
    heard: list[str] = []
    stage.bus.on(SessionEnding, lambda event: heard.append(f"ending {event.reason}"))
    stage.bus.on(SessionStarted, lambda event: heard.append(f"started {event.reason}"))
    stage.write(".pi/agent/settings.json", '{"quietStartup": true}')
    stage.write(".pi/agent/prompts/greet.md", "Say hello")
    await session.extensions.reload()

    assert session.session_id == before
    assert session.settings.values.quiet_startup
    assert [command.name for command in session.facts.commands()] == ["greet"]
    assert heard == ["ending reload", "started reload"]
    await session.close()
