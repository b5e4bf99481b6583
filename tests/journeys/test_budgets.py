"""``/timebox`` and ``--timebox`` in a run that has begun."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.journeys.model_server import Answer, calls, says
from tests.journeys.program import Journey


def warnings(journey: Journey) -> list[str | None]:
    """The word of the warning that ends each request."""
    texts = [str(request["messages"][-1]["content"]) for request in journey.model.requests]
    words = [re.search(r"(\w+) TIMEBOX WARNING", text) for text in texts]
    return [word and word[1] for word in words]


def test_a_time_budget_ends_a_run_in_the_terminal_that_has_begun(journey: Journey) -> None:
    for _ in range(12):
        journey.model.calls("bash", command="sleep 0.5")
    with journey.terminal() as user:
        user.submits("/timebox 2s")
        user.sees("Timebox set: 2s.")
        user.submits("work on")
        user.sees("Timebox budget spent.")
        user.settles()
        unused = journey.model.unused
        user.submits("and now?")
        user.sees("All is well.")

    assert unused > 4


def test_a_budget_set_while_the_model_works_ends_its_run(journey: Journey) -> None:
    released = journey.model.hold("Let me see.")
    for _ in range(12):
        journey.model.calls("bash", command="sleep 0.5")
    with journey.rpc() as client:
        client.ask("prompt", message="work on")
        journey.model.wait_until_held()
        client.request("prompt", message="/timebox tokens:10", streamingBehavior="steer")
        released.set()
        client.until(lambda record: record.get("type") == "agent_settled")

    assert len(journey.model.requests) <= 2


@pytest.mark.parametrize("mode", ["print", "rpc"])
def test_the_model_is_warned_at_80_and_at_95_per_cent_and_then_stopped(
    journey: Journey, mode: str
) -> None:
    for tokens in (80, 16, 10, 10):
        answer = calls("bash", command="true")
        journey.model.script(replace(answer, usage={"prompt_tokens": tokens}))
    if mode == "print":
        ended = journey.pi("--timebox", "tokens:100", "-p", "work on")
        assert ended.code == 3
        assert ended.err.count("Timebox budget spent.") == 1
    else:
        with journey.rpc() as client:
            client.request("prompt", message="/timebox tokens:100")
            client.prompts("work on")

    assert warnings(journey) == [None, "IMPORTANT", "CRITICAL"]


def test_a_run_that_begins_with_a_warning_gets_the_critical_one_too(journey: Journey) -> None:
    answers = says("Begun."), says("Going on."), calls("bash", command="true"), says("Done.")
    for answer, tokens in zip(answers, (85, 1, 10, 1), strict=True):
        journey.model.script(replace(answer, usage={"prompt_tokens": tokens}))
    with journey.rpc() as client:
        client.request("prompt", message="/timebox tokens:100")
        for prompt in ("begin", "go on", "finish"):
            client.prompts(prompt)

    assert warnings(journey) == [None, "IMPORTANT", None, "CRITICAL"]
    assert "IMPORTANT TIMEBOX WARNING" in journey.model.prompt_of(2)


def test_max_turns_counts_requests_of_the_model(journey: Journey) -> None:
    for _ in range(5):
        journey.model.calls("bash", command="true")
    ended = journey.pi("--max-turns", "3", "-p", "work on")

    assert (ended.code, len(journey.model.requests)) == (3, 3)
    assert "Timebox budget spent." in ended.err


def test_an_answer_within_max_turns_is_printed(journey: Journey) -> None:
    journey.model.calls("bash", command="true")
    journey.model.says("Done.")
    ended = journey.pi("--max-turns", "2", "--timebox", "15m", "-p", "work on")

    assert (ended.code, ended.out) == (0, "Done.\n")


def test_max_turns_of_a_resumed_session_counts_from_there(journey: Journey) -> None:
    journey.pi("-p", "begin")
    journey.model.calls("bash", command="true")
    ended = journey.pi("--max-turns", "1", "-p", "--continue", "go on")

    assert (ended.code, len(journey.model.requests)) == (3, 2)


def test_max_turns_ends_a_prompt_of_an_editor(journey: Journey) -> None:
    for _ in range(3):
        journey.model.calls("bash", command="true")
    with journey.acp("--max-turns", "2") as editor:
        result = editor.prompts(editor.opens(), "work on")

    assert result["stopReason"] == "max_turn_requests"


@pytest.mark.parametrize("option", ["--max-turns", "--max-cost"])
def test_a_limit_that_is_no_number_is_an_error(journey: Journey, option: str) -> None:
    ended = journey.pi(option, "many", "-p", "work on")

    assert ended.code == 1
    assert "is invalid" in ended.err
    assert not journey.model.requests


def test_costs_that_floats_add_up_to_slightly_less_count_in_full(journey: Journey) -> None:
    price = {"input": 1000, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    journey.home.use_model(journey.model, cost=price)
    usage = {"prompt_tokens": 100, "completion_tokens": 0}  # $0.10; ten are 0.9999999999999999
    journey.model.script(*(Answer(calls=(("bash", {"command": "true"}),), usage=usage),) * 12)
    with journey.terminal(rows=60) as user:
        user.submits("/timebox cost:1")
        user.submits("work")
        user.sees("nearly spent: $0.20 left.", "Timebox budget spent.")
        user.settles()
    assert len(journey.model.requests) == 10
