"""Expected and unexpected ends of Google's responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import AnswerRefused, BadAnswer, BadRequest, ProviderError, RateLimited
from pi.ai.messages import Json, Text
from tests.ai.wire.google_generate.answers import EDIT, answer, called, chunk, failure, new_decoder


@pytest.mark.behaviour("gemini-bad-stops")
def test_calls_of_a_truncated_answer_have_the_stop_reason_length() -> None:
    message = answer(chunk(called("peek", {}), finish="MAX_TOKENS"))

    assert (message.stop_reason, message.raw_stop_reason) == ("length", "MAX_TOKENS")


@pytest.mark.behaviour("gemini-bad-stops")
@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "BRAND_NEW_REASON"]
)
def test_a_malformed_call_or_unknown_stop_raises_a_retryable_error(reason: str) -> None:
    broken = chunk(finish=reason)
    broken["candidates"][0]["finishMessage"] = "Malformed function call: peek("

    error, message = failure(chunk({"text": "I call"}, called("peek", {})), broken)

    assert isinstance(error, BadAnswer)
    assert error.retryable
    assert error.code == reason
    assert error.message == f"Provider finish_reason: {reason} (Malformed function call: peek()"
    assert message.raw_stop_reason == reason
    assert message.text == "I call"


@pytest.mark.parametrize(
    "reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"]
)
def test_a_stop_by_a_filter_raises_answer_refused(reason: str) -> None:
    error, _ = failure(chunk({"text": "part"}), chunk(finish=reason))

    assert isinstance(error, AnswerRefused)
    assert not error.retryable
    assert error.message == f"Provider finish_reason: {reason}"


def test_a_missing_signature_raises_bad_request() -> None:
    error, _ = failure(chunk(finish="MISSING_THOUGHT_SIGNATURE"))

    assert isinstance(error, BadRequest)


def test_a_blocked_prompt_raises_answer_refused() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not allowed"}

    error, _ = failure({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 5}})

    assert isinstance(error, AnswerRefused)
    assert error.message == "The provider blocked the prompt: PROHIBITED_CONTENT (not allowed)"


@pytest.mark.behaviour("gemini-empty-stop-is-retried")
@pytest.mark.parametrize("parts", [[], [{"text": ""}], [{"text": "hm", "thought": True}]])
def test_a_stop_without_an_answer_raises_a_retryable_error(parts: list[Json]) -> None:
    error, _ = failure(chunk(*parts, finish="STOP"))

    assert isinstance(error, BadAnswer)
    assert error.retryable


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize("wrap", [lambda event: event, lambda event: [event]])
def test_an_error_inside_the_stream_is_classified(wrap: Any) -> None:
    exhausted = {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}

    error, message = failure(chunk({"text": "part"}), wrap({"error": exhausted}))

    assert isinstance(error, RateLimited)
    assert error.status == 429
    assert message.content == (Text(text="part"),)


def test_an_event_that_is_not_json_is_quoted() -> None:
    decoder, _ = new_decoder()

    with pytest.raises(BadAnswer, match="<html>busy</html>"):
        decoder.feed([("", b"<html>busy</html>")])


# Whatever comes ----------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def shaped(*names: str, **inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with fields of these names, mostly valid, sometimes of any value."""
    fields = {**{name: ANYTHING | st.text(max_size=8) for name in names}, **inner}
    return st.fixed_dictionaries({}, optional=fields) | ANYTHING


PARTS = shaped("text", "thought", "thoughtSignature", functionCall=shaped("name", "args", "id"))
CANDIDATES = shaped(
    "finishReason", "finishMessage", content=shaped(parts=st.lists(PARTS, max_size=3))
)
COUNTS = shaped(promptTokenCount=st.integers(), candidatesTokenCount=ANYTHING)
EVENTS = shaped(
    "responseId",
    "modelVersion",
    "error",
    candidates=st.lists(CANDIDATES, max_size=2),
    usageMetadata=COUNTS,
    promptFeedback=shaped("blockReason", "blockReasonMessage"),
)
VALID = json.dumps(
    chunk({"text": "ok", "thought": True}, called("edit", {"edits[0].path": "x"}), finish="STOP")
).encode()


@given(st.lists(EVENTS, max_size=4))
def test_any_event_is_read_or_raises_a_provider_error(events: list[Any]) -> None:
    feed_all([json.dumps(event).encode() for event in events])


@given(st.lists(st.integers(0, len(VALID) - 1), max_size=4), st.binary(max_size=4))
def test_damaged_events_are_read_or_raise_a_provider_error(at: list[int], noise: bytes) -> None:
    damaged = bytearray(VALID)
    for place in at:
        damaged[place : place + len(noise)] = noise
    feed_all([bytes(damaged)])


def feed_all(events: list[bytes]) -> None:
    decoder, builder = new_decoder(EDIT)
    try:
        for event in events:
            decoder.feed([("", event)])
            builder.message()
            if decoder.finished:
                return
        decoder.end()
    except ProviderError as error:
        builder.fail(error)
    assert builder.final is not None
