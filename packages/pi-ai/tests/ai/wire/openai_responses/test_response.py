from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.json_text import json_bytes
from pi.ai.messages import Cost, Json, Text, Usage
from pi.ai.models.model import ModelCost
from tests.ai.wire.openai_responses.decoding import (
    COMPLETED,
    added,
    completed,
    content,
    decoded,
    decoder,
    done,
    event,
    function,
    message,
)
from tests.ai.wire.openai_responses.talk import model

PART = event("output_text.delta", 0, delta="part")
COUNTS = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}


# How it ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "reason", "raw"),
    [
        (COMPLETED, "stop", "completed"),
        (completed(function("{}")), "toolUse", "completed"),
        (event("completed"), "stop", "completed"),
        (event("done", response={"status": "completed"}), "stop", "completed"),
        (
            completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
            "max_output_tokens",
        ),
        (completed(status="incomplete"), "length", "incomplete"),
    ],
)
def test_the_stop_reason_comes_from_the_last_event(last: Json, reason: str, raw: str) -> None:
    answer = decoded(PART, last)

    assert (answer.stop_reason, answer.raw_stop_reason) == (reason, raw)


@pytest.mark.parametrize(
    ("last", "expected", "retryable"),
    [
        (
            completed(status="incomplete", incomplete_details={"reason": "content_filter"}),
            AnswerRefused,
            False,
        ),
        (
            completed(status="failed", error={"code": "server_error", "message": "x"}),
            ProviderUnavailable,
            True,
        ),
        (
            completed(status="failed", error={"code": "rate_limit_exceeded", "message": "x"}),
            RateLimited,
            True,
        ),
        (completed(status="failed"), ProviderUnavailable, True),
        (completed(status="cancelled"), ProviderUnavailable, True),
        (
            {"type": "error", "code": "context_length_exceeded", "message": "too long"},
            ContextOverflow,
            False,
        ),
        (
            {"type": "error", "status": 429, "error": {"type": "usage_limit_reached"}},
            QuotaExhausted,
            False,
        ),
        ({"type": "error", "error": "overloaded"}, ProviderUnavailable, True),
    ],
)
@pytest.mark.behaviour("error-inside-a-200-stream")
def test_an_error_inside_the_stream_raises_a_typed_error(
    last: Json, expected: type[ProviderError], retryable: bool
) -> None:
    reader, builder = decoder()
    reader.feed([("", json_bytes(PART))])

    with pytest.raises(expected) as problem:
        reader.feed([("", json_bytes(last))])

    assert problem.value.retryable is retryable
    assert reader.finished
    assert builder.message().text == "part"


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_that_ends_without_its_last_event_raises() -> None:
    reader, _ = decoder()
    reader.feed([("", json_bytes(PART))])

    with pytest.raises(BadAnswer) as problem:
        reader.end()

    assert problem.value.retryable


# What it cost ------------------------------------------------------------------------------------


@pytest.mark.behaviour("usage-is-counted-once")
def test_cached_input_and_reasoning_are_counted_once() -> None:
    written = {**COUNTS, "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10}}

    assert decoded(completed(usage=COUNTS)).usage == Usage(
        input=60,
        output=20,
        cache_read=40,
        reasoning=5,
        total_tokens=120,
        cost=Cost(total_from_provider=False),
    )
    assert decoded(completed(usage=written)).usage == Usage(
        input=50,
        output=20,
        cache_read=40,
        cache_write=10,
        reasoning=5,
        total_tokens=120,
        cost=Cost(total_from_provider=False),
    )


@pytest.mark.behaviour("usage-is-not-erased")
def test_a_later_event_without_usage_does_not_erase_earlier_counts() -> None:
    answer = decoded(event("in_progress", response={"usage": COUNTS}), completed(usage=None))

    assert (answer.usage.input, answer.usage.output) == (60, 20)


@pytest.mark.behaviour("usage-is-not-erased")
@pytest.mark.parametrize("usage", [None, {}, [], {"input_tokens": None, "output_tokens": "7"}])
def test_missing_or_invalid_usage_counts_as_zero(usage: object) -> None:
    assert decoded(completed(usage=usage)).usage == Usage()


@pytest.mark.behaviour("costs-follow-the-tier")
@pytest.mark.parametrize(("tier", "factor"), [("flex", 0.5), ("priority", 2), ("default", 1)])
def test_the_service_tier_that_was_used_sets_the_price(tier: str, factor: float) -> None:
    priced = model(cost=ModelCost(input=1_000_000, output=0))

    answer = decoded(completed(usage={"input_tokens": 3}, service_tier=tier), model=priced)

    assert answer.usage.cost == Cost(input=3 * factor, total=3 * factor, total_from_provider=False)


# What it says about itself -----------------------------------------------------------------------


def test_the_response_id_and_a_different_model_are_recorded() -> None:
    named = decoded(completed(model="m-2026-11-15"))
    same = decoded(event("created", response={"id": "resp_0", "model": "m"}), event("completed"))

    assert (named.response_id, named.response_model) == ("resp_1", "m-2026-11-15")
    assert (same.response_id, same.response_model) == ("resp_0", UNSET)


# What else arrives -------------------------------------------------------------------------------


@pytest.mark.behaviour("sse-reader-is-lenient", "empty-chunks-are-skipped")
@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"[DONE]",
        b"null",
        b"[]",
        b'{"type":null}',
        b'{"type":"response.output_text.delta","delta":null,"output_index":0}',
        b'{"type":"response.output_text.delta","delta":{},"output_index":0}',
        b'{"type":"response.output_item.added","item":null,"output_index":0}',
        b'{"type":"response.output_item.done","item":[],"output_index":0}',
        b'{"type":"response.output_item.done","item":{"type":"web_search_call"},"output_index":9}',
        b'{"type":"response.created","response":7}',
        b'{"type":"response.something.new"}',
    ],
)
def test_unknown_and_empty_events_are_ignored(odd: bytes) -> None:
    ok = event("output_text.delta", 0, delta="ok")

    assert content(odd, ok, odd, done(0, **message("ok")), odd, COMPLETED) == [Text(text="ok")]


def test_the_event_name_is_used_if_the_type_is_missing() -> None:
    reader, builder = decoder()

    reader.feed([("response.output_text.delta", b'{"delta":"ok","output_index":0}')])

    assert builder.message().text == "ok"


@pytest.mark.behaviour("lone-surrogates-are-cleaned")
@pytest.mark.parametrize(
    ("sent", "text"),
    [(rb"a\ud83d", "a"), (b"a\x01b", "a\x01b"), (b"a\xffb", "a�b"), (rb"\ud83d\ude00", "😀")],
)
def test_invalid_characters_are_removed_or_replaced(sent: bytes, text: str) -> None:
    delta = b'{"type":"response.output_text.delta","output_index":0,"delta":"%s"}' % sent

    assert content(delta, event("completed")) == [Text(text=text)]


@pytest.mark.parametrize("data", [b'{"type":"resp', b"{" * 5000, b"<html>", b'{"a":' * 3000])
def test_data_that_is_not_json_is_a_bad_answer(data: bytes) -> None:
    reader, _ = decoder()

    with pytest.raises(BadAnswer, match="not JSON"):
        reader.feed([("", data)])


def test_text_after_the_end_of_its_item_is_ignored() -> None:
    late = event("output_text.delta", 0, delta="late")

    assert content(added(0, **message("")), PART, done(0, **message("part")), late, COMPLETED) == [
        Text(text="part")
    ]
