from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Text
from pi.modes.headless import INCOMPLETE, PromptInput, run_print
from pi.modes.stdio import Output
from pi.testing import Reply, calls, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.pipes import piped


async def printed(fixture: SessionFixture, *prompts: str) -> tuple[int, str, list[str]]:
    """The exit code, the output and the reported problems."""
    session = await fixture.open()
    complaints: list[str] = []
    async with piped() as reader:
        requested = [PromptInput(text=prompt) for prompt in prompts]
        code = await run_print(session, requested, reader.output, complaints.append)
        output = await reader.everything()
    await session.close()
    return code, output.decode(), complaints


async def test_the_last_answer_is_printed_and_nothing_else(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("first"), says("se", Text(text="cond")))

    assert await printed(fixture, "a", "b") == (0, "second\n", [])


@pytest.mark.behaviour("print-mode-exit-codes")
async def test_a_failure_is_reported_beside_the_output(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("first"), BadRequest("400: no", status=400))

    assert await printed(fixture, "a", "b") == (1, "", ["400: no"])


async def test_a_failure_is_reported_with_a_hint(tmp_path: Path) -> None:
    refused = BadRequest('404: {"message":"no such model"}', status=404)

    reported = "no such model (HTTP 404)\nCheck the model's name and the provider's base URL."
    assert await printed(SessionFixture(tmp_path, refused), "a") == (1, "", [reported])


@pytest.mark.behaviour("cut-tool-call-is-not-run")
async def test_a_truncated_answer_is_printed_with_a_warning(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, Reply(blocks=(Text(text="so far"),), stop_reason="length"))

    assert await printed(fixture, "a") == (0, "so far\n", [INCOMPLETE])


@pytest.mark.behaviour("loops-are-stopped")
async def test_a_run_that_the_repetition_guard_ended_is_a_failure(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, *[calls("read", path="notes.txt")] * 20)
    fixture.write(".pi/agent/settings.json", '{"repetition": {"calls": 2}}')

    reason = "Stopped: the model made the same call of read 6 times in a row."
    assert await printed(fixture, "look around") == (1, "", [reason])


async def test_an_answer_without_words_prints_nothing(tmp_path: Path) -> None:
    assert await printed(SessionFixture(tmp_path, Reply()), "a") == (0, "", [])


async def test_a_lone_surrogate_is_replaced(tmp_path: Path) -> None:
    code, output, _ = await printed(SessionFixture(tmp_path, says("a\ud83d")), "a")

    assert (code, output[0]) == (0, "a")


COMMANDING = "red \x1b[31m, clipboard \x1b]52;c;eA==\x07, done"


async def test_a_program_gets_every_byte_of_an_answer(tmp_path: Path) -> None:
    assert await printed(SessionFixture(tmp_path, says(COMMANDING)), "a") == (
        0,
        f"{COMMANDING}\n",
        [],
    )


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
async def test_control_sequences_are_removed_from_answers_on_a_terminal(tmp_path: Path) -> None:
    session = await SessionFixture(tmp_path, says(COMMANDING)).open()
    ours, theirs = os.openpty()
    output = Output(theirs)
    try:
        await run_print(session, [PromptInput(text="a")], output, pytest.fail)
        await output.close()
        printed = os.read(ours, 1 << 16)
    finally:
        await session.close()
        os.close(theirs)
        os.close(ours)

    assert printed == b"red , clipboard , done\r\n"
