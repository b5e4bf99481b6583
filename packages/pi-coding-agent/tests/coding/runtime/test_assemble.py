"""Assembling a session from a folder and options."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.transcript import fold
from pi.base.errors import PiError
from pi.coding.session.opening import open_session
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture, kinds


async def test_a_new_session_starts_with_model_and_thinking_level_entries(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("Hello."))
    session = await fixture.open()
    assert kinds(session) == ["model_change", "thinking_level_change"]
    await session.prompts.prompt("hi")

    assert kinds(session)[2:] == ["system", "user", "assistant"]
    assert session.info.last_answer() == "Hello."
    assert fixture.order[-1] == "agent_settled"
    await session.close()


async def test_the_null_prompt_variable_empties_the_system_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("Hello."), environ={**ENVIRON, "NULL_PROMPT": "true"})
    session = await fixture.open()
    await session.prompts.prompt("hi")
    await session.close()

    prompt, _ = fold(fixture.provider.requests[0].messages, keep_later=False)
    assert prompt.prompt == ""


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
async def test_resuming_a_session_appends_nothing_and_keeps_its_conversation(
    tmp_path: Path,
) -> None:
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


async def test_a_named_session_is_saved_without_any_message(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open(name="my work")
    await session.close()

    assert session.entries.log.file is not None
    assert "my work" in session.entries.log.file.read_text()


async def test_the_bash_tool_sets_variables_with_the_session_and_the_model(tmp_path: Path) -> None:
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
    with pytest.raises(PiError) as error:
        await session.prompts.prompt("hi")
    await session.close()

    assert error.value.message == "No API key found for the selected model."
    assert "demo/tour" in error.value.hint
