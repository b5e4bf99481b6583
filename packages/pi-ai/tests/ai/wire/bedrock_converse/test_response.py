from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi.ai.builder import INVALID_ARGUMENTS, MessageBuilder
from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from pi.ai.events import Done, Start, StreamEvent, TextDelta, TextEnd, TextStart
from pi.ai.messages import AssistantMessage, Text, Thinking, ToolCall
from pi.ai.wire.bedrock_converse.response import ConverseDecoder
from tests.ai.wire.bedrock_converse.calls import model

USAGE = ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}})


class Answer:
    """A decoder that is being fed, and what it builds."""

    def __init__(self) -> None:
        self.builder = MessageBuilder(model(), now_ms=0)
        self.builder.start()
        self.decoder = ConverseDecoder(self.builder)

    def feed(self, *events: tuple[str, Any]) -> Answer:
        for name, data in events:
            raw = data if isinstance(data, bytes) else msgspec.json.encode(data)
            self.decoder.feed([(name, raw)])
        return self

    @property
    def message(self) -> AssistantMessage:
        assert self.builder.final is not None
        assert self.decoder.finished
        return self.builder.final


def delta(index: int, **part: Any) -> tuple[str, Any]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": part}


def called(index: int, id: str | None, name: str | None = "peek") -> tuple[str, Any]:
    start = {"toolUse": {"toolUseId": id, "name": name}}
    return "contentBlockStart", {"contentBlockIndex": index, "start": start}


def closed(index: int) -> tuple[str, Any]:
    return "contentBlockStop", {"contentBlockIndex": index}


def stopped(reason: str | None) -> tuple[str, Any]:
    return "messageStop", {"stopReason": reason}


# Blocks ------------------------------------------------------------------------------------------


def test_block_events_are_emitted_in_order() -> None:
    answer = Answer().feed(delta(0, text="a"), closed(0), stopped("end_turn"), USAGE)

    events: list[StreamEvent] = [
        Start(),
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="a"),
        TextEnd(content_index=0, content="a"),
        Done(reason="stop", message=answer.message),
    ]
    assert answer.builder.take() == events


def test_blocks_that_share_an_index_are_kept_separate() -> None:
    answer = Answer().feed(
        delta(0, reasoningContent={"text": "hm"}),
        delta(0, text="a"),
        closed(0),
        delta(0, text="b"),
        stopped("end_turn"),
        USAGE,
    )

    assert answer.message.content == (Thinking(thinking="hm"), Text(text="a"), Text(text="b"))


def test_empty_deltas_open_no_block() -> None:
    answer = Answer().feed(
        delta(0, text=""),
        delta(1, reasoningContent={"text": ""}),
        delta(2, reasoningContent={}),
        stopped("end_turn"),
        USAGE,
    )

    assert answer.message.content == ()


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_a_signature_and_redacted_content_can_arrive_in_pieces() -> None:
    answer = Answer().feed(
        delta(0, reasoningContent={"signature": "ab"}),
        delta(0, reasoningContent={"signature": "cd"}),
        delta(1, reasoningContent={"redactedContent": "AA=="}),
        delta(1, reasoningContent={"redactedContent": "AQ=="}),
        stopped("end_turn"),
        USAGE,
    )

    assert answer.message.content == (
        Thinking(thinking="", thinking_signature="abcd"),
        Thinking(thinking="", thinking_signature="AAE=", redacted=True),
    )


def test_redacted_content_that_is_not_base64_raises_bad_answer() -> None:
    answer = Answer().feed(delta(1, reasoningContent={"redactedContent": "AA=="}))

    with pytest.raises(BadAnswer, match="not base64"):
        answer.feed(delta(1, reasoningContent={"redactedContent": "A"}))


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_pieces_of_parallel_calls_never_mix() -> None:
    answer = Answer().feed(
        called(0, "a"),
        called(1, "a"),
        delta(1, toolUse={"input": '{"n":'}),
        delta(0, toolUse={"input": '{"n":1}'}),
        delta(1, toolUse={"input": "2}"}),
        delta(7, toolUse={"input": "of no call"}),
        stopped("tool_use"),
        USAGE,
    )

    first, second = answer.message.tool_calls
    assert first == ToolCall(id="a", name="peek", arguments={"n": 1})
    assert second.arguments == {"n": 2}
    assert second.id not in ("", "a")


def test_arguments_that_are_not_json_are_reported() -> None:
    answer = Answer().feed(
        called(0, "a"), delta(0, toolUse={"input": '{"n":'}), stopped("tool_use"), USAGE
    )

    assert answer.message.diagnostics == (
        {
            "type": INVALID_ARGUMENTS,
            "timestamp": 0,
            "details": {"toolCallId": "a", "text": '{"n":'},
        },
    )


# Usage -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("usage-is-counted-once")
def test_cached_tokens_are_counted_once_and_one_hour_writes_separately() -> None:
    counts = {
        "inputTokens": 10,
        "outputTokens": 5,
        "totalTokens": 135,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 20,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 15}, {"ttl": "5m", "inputTokens": 5}, None],
    }

    usage = Answer().feed(stopped("end_turn"), ("metadata", {"usage": counts})).message.usage

    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (10, 5, 100, 20)
    assert usage.cache_write_1h == 15
    assert usage.total_tokens == 135


@pytest.mark.behaviour("usage-is-not-erased")
def test_missing_counts_are_zero() -> None:
    usage = Answer().feed(stopped("end_turn"), ("metadata", {"usage": {}})).message.usage

    assert (usage.input, usage.output, usage.total_tokens, usage.cost.total) == (0, 0, 0, 0)


# Ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "stop"),
    ],
)
def test_stop_reasons_are_translated_and_kept(reason: str, ours: str) -> None:
    message = Answer().feed(stopped(reason), USAGE).message

    assert (message.stop_reason, message.raw_stop_reason) == (ours, reason)


def test_calls_under_another_stop_reason_are_still_calls() -> None:
    message = Answer().feed(called(0, "a"), stopped("end_turn"), USAGE).message
    cut = Answer().feed(called(0, "a"), stopped("max_tokens"), USAGE).message

    assert message.stop_reason == "toolUse"
    assert cut.stop_reason == "length"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("guardrail_intervened", AnswerRefused),
        ("content_filtered", AnswerRefused),
        ("malformed_model_output", BadAnswer),
        ("malformed_tool_use", BadAnswer),
    ],
)
def test_stop_reasons_without_an_answer_raise_and_keep_the_usage(
    reason: str, kind: type[ProviderError]
) -> None:
    answer = Answer().feed(delta(0, text="part"), stopped(reason))

    with pytest.raises(kind, match=f"Provider stop reason: {reason}"):
        answer.feed(USAGE)

    assert answer.builder.usage.output == 2
    assert answer.builder.raw_stop_reason == reason


def test_the_usage_can_arrive_before_the_stop_reason() -> None:
    message = Answer().feed(USAGE, stopped(None)).message

    assert message.stop_reason == "stop"
    assert message.usage.output == 2


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_without_a_stop_reason_is_a_bad_answer() -> None:
    answer = Answer().feed(delta(0, text="part"), USAGE)

    with pytest.raises(BadAnswer, match="Stream ended without messageStop"):
        answer.decoder.end()


def test_a_stream_that_lacks_only_its_usage_is_complete() -> None:
    answer = Answer().feed(delta(0, text="all"), stopped("end_turn"))
    answer.decoder.end()

    assert answer.message.content == (Text(text="all"),)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("error-inside-a-200-stream", "rate-limit-is-not-overflow")
@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("throttlingException", "Too many tokens, please wait before trying again.", RateLimited),
        ("modelStreamErrorException", "The model failed.", ProviderUnavailable),
        ("internalServerException", "Oops.", ProviderUnavailable),
        ("serviceUnavailableException", "Later.", ProviderUnavailable),
        ("validationException", "The field is wrong.", BadRequest),
        ("validationException", "Input is too long for requested model.", ContextOverflow),
    ],
)
def test_exceptions_in_the_stream_raise_typed_errors(
    name: str, message: str, kind: type[ProviderError]
) -> None:
    with pytest.raises(ProviderError) as failed:
        Answer().feed((f"exception:{name}", {"message": message}))

    assert type(failed.value) is kind
    assert failed.value.message == f"{name}: {message}"


@pytest.mark.parametrize("data", [b"", b"no json", b"[]", b"\xff"])
def test_an_exception_with_an_invalid_body_is_classified_by_its_name(data: bytes) -> None:
    with pytest.raises(RateLimited):
        Answer().feed(("exception:throttlingException", data))


def test_an_event_that_is_not_json_is_quoted_in_the_error() -> None:
    with pytest.raises(BadAnswer, match="The server sent an event that is not JSON: nonsense"):
        Answer().feed(("contentBlockDelta", b"nonsense"))
