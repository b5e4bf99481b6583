"""The timebox in the real program: on the command line, for a client, and in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pi.batteries.timebox.adapters.pi import SPENT
from tests.cli.program import Program
from tests.modes.rpc.peer import says, talking
from tests.screens.test_tmux import TMUX, Pane, module
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1")
STOPPED = "Timebox budget spent. Used 1 turn, "


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    return program


def test_print_mode_has_its_own_exit_code_for_a_spent_budget(
    cli: Program, model: LoopbackModel
) -> None:
    ended = cli.run(*MODEL, "--timebox", "15m turns:1", "-p", "first", "second", "third")

    assert (ended.code, ended.out) == (SPENT, "")
    assert ended.err.startswith(STOPPED)
    assert len(model.requests) == 1


@pytest.mark.full
def test_print_mode_within_its_budget_prints_the_response(cli: Program) -> None:
    ended = cli.run(*MODEL, "--timebox", "15m turns:2", "-p", "first", "second")

    assert ended == (0, "All is well.\n", "")


@pytest.mark.full
def test_an_invalid_budget_sends_no_request(cli: Program, model: LoopbackModel) -> None:
    ended = cli.run(*MODEL, "--timebox", "15 minutes", "-p", "first")

    assert (ended.code, model.requests) == (1, [])
    assert ended.err.startswith("--timebox '15 minutes' is invalid.")


@pytest.mark.full
def test_a_session_that_is_continued_may_have_a_new_budget(cli: Program) -> None:
    cli.run(*MODEL, "--timebox", "turns:1", "-p", "first", "second")

    assert cli.run(*MODEL, "-c", "--timebox", "turns:1", "-p", "third").code == 0
    assert cli.run(*MODEL, "-c", "-p", "fourth").code == SPENT
    assert cli.run(*MODEL, "-c", "-p", "fifth").code == 0


@pytest.mark.full
def test_a_budget_of_zero_tokens_sends_no_request(cli: Program, model: LoopbackModel) -> None:
    ended = cli.run(*MODEL, "--timebox", "tokens:0", "-p", "first")

    assert (ended.code, model.requests) == (SPENT, [])


@pytest.mark.full
def test_json_mode_reports_the_reason_of_the_stop(cli: Program) -> None:
    ended = cli.run(*MODEL, "--timebox", "turns:1", "--mode", "json", "first", "second")

    events = [json.loads(line) for line in ended.out.splitlines()]
    answers = [
        event["message"]
        for event in events
        if event["type"] == "message_end" and event["message"]["role"] == "assistant"
    ]
    assert ended.code == SPENT
    assert [answer["stopReason"] for answer in answers] == ["stop", "aborted"]
    assert answers[1]["errorMessage"].startswith(STOPPED)
    assert events[-1]["type"] == "agent_settled"
    (lines,) = cli.sessions()
    records = [line["data"] for line in lines if line.get("customType") == "timebox-active"]
    assert [(data["turnLimit"], data["active"]) for data in records] == [(1, True), (1, False)]


@pytest.mark.full
async def test_with_two_turns_the_second_is_nudged_and_the_third_is_stopped(tmp_path: Path) -> None:
    arguments = ("--model", "mock/mock-r", "--timebox", "turns:2")
    reported: list[list[str]] = []
    async with talking(tmp_path, says("one"), says("two"), arguments=arguments) as peer:
        for text in ("first", "second", "third"):
            await peer.send({"type": "prompt", "message": text, "id": text})
            seen = await peer.until(type="agent_settled")
            reported.append([event["message"] for event in seen if event.get("method") == "notify"])
        await peer.ended()

    assert reported[0] == ["Timebox set: 2 turns."]
    assert reported[1] == ["Timebox nearly spent: this turn is the last."]
    assert reported[2][0].startswith("Timebox budget spent. Used 2 turns, ")


async def test_a_client_is_notified_and_can_continue(tmp_path: Path) -> None:
    arguments = ("--model", "mock/mock-r", "--timebox", "turns:1")
    answers = (says("one"), says("three"))
    async with talking(tmp_path, *answers, arguments=arguments) as peer:
        seen = []
        for text in ("first", "second", "third"):
            await peer.send({"type": "prompt", "message": text, "id": text})
            seen += await peer.until(type="agent_settled")
        code = await peer.ended()

    requests = [event for event in seen if event["type"] == "extension_ui_request"]
    reported = [
        (event["notifyType"], event["message"]) for event in requests if event["method"] == "notify"
    ]
    assert [level for level, _ in reported] == ["info", "error"]
    assert reported[0][1] == "Timebox set: 1 turn."
    assert reported[1][1].startswith(STOPPED)
    status = [event["statusText"] for event in requests if event["method"] == "setStatus"]
    assert status[0] == "Timebox: no time limit | 1 turn left (0/1)"
    answers_seen = [
        event["message"]["stopReason"]
        for event in seen
        if event["type"] == "message_end" and event["message"]["role"] == "assistant"
    ]
    assert answers_seen == ["stop", "aborted", "stop"]
    assert code == 0


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(TMUX is None, reason="needs tmux")
def test_the_user_sees_the_nudge_at_the_fifth_and_the_stop_at_the_sixth_prompt(
    cli: Program, model: LoopbackModel
) -> None:
    pane = Pane(cli, 120, 40, module("pi", *MODEL))
    try:
        pane.sees("(mock) echo-1")
        _type(pane, "/timebox turns:5")
        pane.sees("Timebox set: 5 turns.")
        for number in range(1, 4):
            _ask(pane, model, number)
            pane.sees(f"{5 - number} turns left ({number}/5)")
        _type(pane, "/reload")
        pane.sees("Reloaded settings")
        pane.sees("2 turns left (3/5)")
        _ask(pane, model, 4)
        assert "Timebox nearly spent" not in pane.tape
        _ask(pane, model, 5)
        pane.sees("Timebox nearly spent: this turn is the last.")
        _type(pane, "question 6")
        pane.sees("Timebox budget spent. Used 5 turns")
        pane.sees("(5/5) | spent")
        assert len(model.requests) == 5
        _type(pane, "question 7")
        pane.until(lambda: len(model.requests) == 6)
    finally:
        pane.close()


def _type(pane: Pane, text: str) -> None:
    """Type a text and send it; the first Enter may only accept a completion."""
    pane.run("send-keys", "-l", text)
    pane.sees(text)

    def sent() -> bool:
        pane.keys("Enter")
        return all(line.strip() != text for line in pane.tape.splitlines())

    pane.until(sent)


def _ask(pane: Pane, model: LoopbackModel, number: int) -> None:
    """Send a prompt and wait for the response."""
    _type(pane, f"question {number}")
    pane.until(lambda: pane.tape.count("All is well.") == number)
    assert len(model.requests) == number
