"""Prompts: expansion, queues and runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.agent.errors import AgentBusy
from pi.agent.events import ToolExecutionStart
from pi.ai.messages import Image
from pi.coding.extension_host.events.session import InputAnswer, InputEvent
from pi.coding.port.results import Queues
from pi.coding.resources.prompts import MissingValues
from pi.testing import Reply, calls, says
from tests.coding.runtime.session_fixture import SessionFixture

SKILL = "---\ndescription: Reviews.\n---\nLook closely."


async def test_templates_and_skills_are_expanded_in_prompts(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    fixture.write(".pi/agent/skills/review/SKILL.md", SKILL)
    fixture.write(".pi/agent/prompts/fix.md", "Fix $1 now")
    session = await fixture.open()
    await session.prompts.prompt("/fix it")
    await session.prompts.prompt("/skill:review this")
    await session.close()

    texts = [point.text for point in session.info.fork_points()]
    assert texts[0] == "Fix it now"
    assert texts[1].startswith('<skill name="review"')
    assert texts[1].endswith("this")


async def test_missing_template_values_are_requested_or_the_prompt_is_refused(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    fixture.write(".pi/agent/prompts/fix.md", "Fix {{what}} for {{team}}")
    requested: list[tuple[str, ...]] = []

    async def fill(missing: MissingValues) -> dict[str, str] | None:
        requested.append(missing.names)
        return {"team": "all of us"} if len(requested) > 1 else None

    async with await fixture.open() as session:
        for refused in (
            session.prompts.prompt("/fix it"),
            session.prompts.prompt("/fix it", fill=fill),
            session.prompts.steer("/fix it"),
        ):
            with pytest.raises(MissingValues, match="needs a value for team"):
                await refused
        await session.prompts.prompt("/fix it", fill=fill)
        texts = [point.text for point in session.info.fork_points()]

    assert (requested, texts) == ([("team",), ("team",)], ["Fix it for all of us"])


async def test_a_prompt_is_accepted_before_its_run_starts(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    order: list[str] = []
    session.subscribe(lambda event: order.append(type(event).__name__))
    await session.prompts.prompt("hi", accepted=order.append)
    await session.close()

    assert order[:2] == ["started", "AgentStart"]


async def test_a_prompt_during_a_run_is_queued_or_refused(tmp_path: Path) -> None:
    fixture = SessionFixture(
        tmp_path, calls("bash", command="sleep 0.2"), says("a"), says("b"), says("c")
    )
    session = await fixture.open()
    started = fixture.seen(session, ToolExecutionStart)
    run = asyncio.create_task(session.prompts.prompt("go"))
    await started.wait()
    with pytest.raises(AgentBusy, match="Specify streamingBehavior"):
        await session.prompts.prompt("no")
    await session.prompts.prompt("steered", streaming="steer")
    await session.prompts.follow_up("later")
    assert session.info.state().pending_message_count == 2
    await run
    await session.close()

    texts = [point.text for point in session.info.fork_points()]
    assert texts == ["go", "steered", "later"]


async def test_clearing_the_queue_returns_the_queued_messages(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    await session.prompts.steer("a")
    await session.prompts.follow_up("b")

    assert await session.prompts.clear_queue() == Queues(steering=("a",), follow_up=("b",))
    await session.close()


async def test_handlers_can_transform_or_handle_a_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()

    def answer(event: InputEvent) -> InputAnswer:
        if event.text == "mine":
            return InputAnswer(action="handled")
        return InputAnswer(action="transform", text=event.text.upper())

    fixture.bus.subscribe(InputEvent, answer)
    assert await session.prompts.prompt("mine") is None
    await session.prompts.prompt("hi")
    await session.close()

    assert [point.text for point in session.info.fork_points()] == ["HI"]


async def test_images_are_sent_with_a_prompt(tmp_path: Path) -> None:
    picture = Image(data="aGk=", mime_type="image/png")
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("look", [picture])
    await session.close()

    assert "aGk=" in str(fixture.provider.requests[0].messages)


@pytest.mark.behaviour("prompt-prefix-is-stable")
async def test_a_request_starts_with_the_messages_of_the_previous_one(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    first, second = (request.messages for request in fixture.provider.requests)
    await session.close()

    assert second[: len(first)] == first


@pytest.mark.behaviour("instructions-survive-compaction")
async def test_sections_hold_tools_rules_and_the_working_directory(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, Reply())
    session = await fixture.open()
    sections = session.prompts.sections()
    await session.close()

    assert list(sections) == ["preamble", "tools", "rules", "docs", "cwd"]
    assert sections["cwd"] == f"<cwd>\n{fixture.cwd}\n</cwd>"
    assert "- read:" in sections["tools"]


async def test_queue_modes_apply_at_once_and_are_not_stored(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    session.settings.override({"steeringMode": "all", "followUpMode": "all"})
    state = session.info.state()

    assert (state.steering_mode, state.follow_up_mode) == ("all", "all")
    assert session.settings.values.steering_mode == "all"
    assert not (fixture.agent_dir / "settings.json").exists()
    await session.close()


async def test_queue_modes_of_the_settings_apply_on_reload(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    async with await fixture.open() as session:
        fixture.write(".pi/agent/settings.json", '{"steeringMode": "all", "followUpMode": "all"}')
        await session.sessions.reload()
        state = session.info.state()

    assert (state.steering_mode, state.follow_up_mode) == ("all", "all")


async def test_queue_modes_of_another_project_apply_with_its_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    other = tmp_path / "other"
    fixture.write(".pi/agent/trust.json", json.dumps({str(other): True}))
    (other / ".pi").mkdir(parents=True)
    (other / ".pi" / "settings.json").write_text('{"steeringMode": "all"}')
    async with await fixture.open(cwd=other) as there:
        await there.prompts.prompt("one")
        file = there.entries.log.file
    assert file is not None
    async with await fixture.open() as session:
        session.settings.override({"followUpMode": "all"})
        assert session.info.state().steering_mode == "one-at-a-time"
        await session.sessions.switch(file)
        state = session.info.state()

    # Overrides set at run time also apply in the other folder.
    assert (state.steering_mode, state.follow_up_mode) == ("all", "all")


async def test_a_stored_queue_mode_applies_at_once(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    async with await fixture.open() as session:
        session.settings.set({"steeringMode": "all"})

        assert session.info.state().steering_mode == "all"
