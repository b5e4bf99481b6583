"""A limit of the provider: one sentence, the time of its end, and exit code 4."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.journeys.model_server import Answer, fails
from tests.journeys.program import Journey

RESETS_IN = 3 * 86_400


def an_hour() -> Answer:
    """A rate limit with a delay that pi does not wait for."""
    body = {"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}
    return fails(429, body, retry_after="3600")


def plan() -> Answer:
    """The limit of a plan that ends in three days."""
    error = {
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "resets_at": int(time.time()) + RESETS_IN,
    }
    return fails(429, {"error": error})


def billing() -> Answer:
    """A request that the credits do not cover."""
    error = {
        "message": "Insufficient credits.",
        "code": 402,
        "metadata": {"limit_source": "openrouter_credits"},
    }
    return fails(402, {"error": error})


LIMITS = [
    pytest.param(an_hour, "Slow down (HTTP 429)", "until", "another model", id="an hour"),
    pytest.param(
        plan, "usage limit has been reached (HTTP 429)", "until", "another model", id="plan"
    ),
    pytest.param(billing, "Insufficient credits. (HTTP 402)", "", "billing", id="billing"),
]


def failures(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The failures of answers, in the events."""
    ends = [record for record in records if record.get("type") == "message_end"]
    return [end["message"]["failure"] for end in ends if "failure" in end["message"]]


@pytest.mark.parametrize(("limit", "text", "until", "advice"), LIMITS)
def test_a_limit_ends_a_print_run_with_a_sentence_and_code_4(
    journey: Journey, limit: Any, text: str, until: str, advice: str
) -> None:
    journey.model.script(limit())
    ended = journey.pi("-p", "hi")

    assert (ended.code, ended.out, len(journey.model.requests)) == (4, "", 1)
    assert text in ended.err
    assert until in ended.err
    assert advice in ended.err
    assert "{" not in ended.err


def test_json_mode_tells_when_a_limit_ends(journey: Journey) -> None:
    journey.model.script(plan())
    ended = journey.pi("--mode", "json", "hi")
    [failure] = failures([json.loads(line) for line in ended.out.splitlines()])

    assert ended.code == 4
    assert (failure["kind"], failure["limit"]["scope"]) == ("quota", "account")
    assert abs(failure["limit"]["resets_at"] - time.time() - RESETS_IN) < 600
    assert "until 20" in failure["text"]
    assert "{" not in failure["text"]


def test_a_client_of_rpc_gets_the_sentence_and_the_end_of_a_limit(journey: Journey) -> None:
    journey.model.script(an_hour())
    with journey.rpc() as client:
        client.prompts("hi")
        [failure] = failures(client.records)

    assert failure["kind"] == "rate_limit"
    assert "Slow down (HTTP 429)" in failure["text"]
    assert "another model" in failure["next"]
    assert abs(failure["limit"]["resets_at"] - time.time() - 3600) < 600


@pytest.mark.parametrize(("limit", "text", "until", "advice"), LIMITS)
def test_the_terminal_shows_a_limit_in_words_also_in_the_resumed_session(
    journey: Journey, limit: Any, text: str, until: str, advice: str
) -> None:
    journey.model.script(limit())
    with journey.terminal(columns=160) as user:
        user.submits("hi")
        user.sees(text)
        user.sees(advice)
        user.settles()
        assert until in user.tape
        assert '{"' not in user.tape
    with journey.terminal("--continue", columns=160) as user:
        user.sees(text)
        user.settles()
        assert until in user.tape
        assert '{"' not in user.tape


def test_an_editor_gets_the_sentence_of_a_limit(journey: Journey) -> None:
    journey.model.script(plan())
    with journey.acp() as editor:
        session = editor.opens()
        prompt = [{"type": "text", "text": "hi"}]
        answer = editor.ask("session/prompt", sessionId=session, prompt=prompt)

    error = answer["error"]
    assert "usage limit has been reached (HTTP 429)" in error["message"]
    assert "{" not in error["message"]
    assert error["data"]["failure"]["limit"]["resets_at"] > time.time()


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, {"error": {"message": "Unknown parameter"}}, "Unknown parameter (HTTP 400)"),
        (404, {"error": {"code": 7}}, "Not found (HTTP 404)"),
        (401, {"error": {"message": "Incorrect API key"}}, "Incorrect API key (HTTP 401)"),
    ],
)
def test_another_http_error_is_a_sentence_with_code_1(
    journey: Journey, status: int, body: dict[str, Any], text: str
) -> None:
    journey.model.script(fails(status, body))
    ended = journey.pi("-p", "hi")

    assert ended.code == 1
    assert text in ended.err
    assert "{" not in ended.err
