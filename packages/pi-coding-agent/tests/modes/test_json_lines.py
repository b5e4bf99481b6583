from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Image
from pi.modes.headless import PromptInput, run_json
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.pipes import piped, until

PICTURE = Image(data="aGk=", mime_type="image/png")


async def test_the_header_comes_first_and_then_every_event_of_every_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("one"), says("two"))
    session = await fixture.open()
    async with piped() as reader:
        prompts = [PromptInput(text="a", images=(PICTURE,)), PromptInput(text="b")]
        code = await run_json(session, prompts, reader.output, pytest.fail)
        header, *events = await reader.records()

    assert code == 0
    assert (header["type"], header["version"]) == ("session", 3)
    assert "since_session_ms" not in header
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1], kinds.count("agent_settled")) == (
        *("agent_start", "agent_settled"),
        2,
    )
    assert all(event["since_session_ms"] >= 0 for event in events)
    messages = [event["message"] for event in events if event["type"] == "message_start"]
    user = next(message for message in messages if message["role"] == "user")
    assert user["content"][1] == {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    await session.close()


@pytest.mark.behaviour("print-mode-exit-codes")
async def test_a_failed_answer_is_an_exit_code_of_1(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, BadRequest("400: no", status=400))
    session = await fixture.open()
    async with piped() as reader:
        assert await run_json(session, [PromptInput(text="a")], reader.output, pytest.fail) == 1
        last = (await reader.records())[-1]

    assert last["type"] == "agent_settled"
    await session.close()


@pytest.mark.behaviour("loops-are-stopped")
async def test_a_run_that_the_repetition_guard_ended_is_an_exit_code_of_1_and_one_line(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, *[calls("read", path="notes.txt")] * 20)
    fixture.write(".pi/agent/settings.json", '{"repetition": {"calls": 2}}')
    session = await fixture.open()
    complaints: list[str] = []
    async with piped() as reader:
        code = await run_json(session, [PromptInput(text="a")], reader.output, complaints.append)
        last = (await reader.records())[-1]

    assert (code, last["type"]) == (1, "agent_settled")
    assert complaints == ["Stopped: the model made the same call of read 6 times in a row."]
    await session.close()


@pytest.mark.behaviour("output-is-flushed")
async def test_a_slow_reader_pauses_the_agent_and_gets_all_events(tmp_path: Path) -> None:
    text = " ".join(map(str, range(20_000)))
    fixture = SessionFixture(tmp_path, says(text))
    session = await fixture.open()
    async with piped() as reader:
        run = asyncio.create_task(
            run_json(session, [PromptInput(text="a")], reader.output, pytest.fail)
        )
        await until(lambda: reader.output.is_behind)
        assert not run.done()
        received = b""
        while not run.done():
            received += await reader.take()
        lines = (received + await reader.everything()).splitlines()

    events = [json.loads(line).get("assistantMessageEvent", {}) for line in lines]
    assert "".join(event.get("delta", "") for event in events) == text
    assert await run == 0
    await session.close()
