"""From a folder and a few filter to a session that answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.transcript import fold
from pi.base.errors import PiError
from pi.coding.session.opening import open_session
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture, kinds


async def test_a_new_session_begins_with_its_choices_and_answers(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("Hello."))
    session = await fixture.open()
    assert kinds(session) == ["model_change", "thinking_level_change"]
    await session.prompts.prompt("hi")

    assert kinds(session)[2:] == ["system", "user", "assistant"]
    assert session.info.last_answer() == "Hello."
    assert fixture.order[-1] == "agent_settled"
    await session.close()


async def test_a_variable_leaves_out_the_whole_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("Hello."), environ={**ENVIRON, "NULL_PROMPT": "true"})
    session = await fixture.open()
    await session.prompts.prompt("hi")
    await session.close()

    prompt, _ = fold(fixture.provider.requests[0].messages, keep_later=False)
    assert prompt.prompt == ""


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
async def test_a_resumed_session_goes_on_and_opening_it_appends_nothing(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    session = await fixture.open()
    await session.prompts.prompt("first")
    file = session.entries.log.file
    assert file is not None
    await session.close()
    before = file.read_bytes()

    again = await fixture.open(model=None, open_log=lambda location: open_session(file, location))
    assert file.read_bytes() == before
    assert again.models.current is not None
    assert again.models.current.id == "faux"
    await again.prompts.prompt("second")
    assert file.read_bytes().startswith(before)
    assert "first" in str(fixture.provider.requests[1].messages)
    await again.close()


async def test_a_name_is_worth_a_file(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(name="my work")
    await session.close()

    assert session.entries.log.file is not None
    assert "my work" in session.entries.log.file.read_text()


async def test_the_bash_tool_knows_the_session(tmp_path: Path) -> None:
    command = "echo $PI_SESSION_ID $PI_PROVIDER $PI_MODEL $PI_REASONING_LEVEL $PI_SESSION_FILE"
    fixture = SessionFixture(tmp_path, calls("bash", command=command), says("ok"))
    session = await fixture.open(thinking="low")
    await session.prompts.prompt("print")

    reported = str(session.info.messages()[-2])
    assert f"{session.entries.log.header.id} faux faux low {session.entries.log.file}" in reported
    await session.close()


async def test_without_a_model_a_prompt_is_refused_with_a_hint(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.registry.models.unregister("faux")
    session = await fixture.open(model=None)
    assert session.models.current is None
    with pytest.raises(PiError) as problem:
        await session.prompts.prompt("hi")
    await session.close()

    assert problem.value.message == "No API key found for the selected model."
    assert "demo/tour" in problem.value.hint
