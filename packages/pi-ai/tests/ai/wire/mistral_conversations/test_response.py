from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    BadRequest,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from pi.ai.messages import AssistantMessage, Text, Thinking, ToolCall
from pi.ai.wire.mistral_conversations.history import short_id
from pi.ai.wire.mistral_conversations.response import CompletionDecoder
from tests.ai.wire.mistral_conversations.calls import model

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


class Answer:
    """A decoder that is being fed, and what it builds."""

    def __init__(self) -> None:
        self.builder = MessageBuilder(model(), now_ms=0)
        self.decoder = CompletionDecoder(self.builder)

    def feed(self, *chunks: Any) -> Answer:
        for chunk in chunks:
            raw = chunk if isinstance(chunk, bytes) else msgspec.json.encode(chunk)
            self.decoder.feed([("", raw)])
        return self

    @property
    def message(self) -> AssistantMessage:
        assert self.builder.final is not None
        assert self.decoder.finished
        return self.builder.final


def chunk(*, finish: str | None = None, usage: Any = None, **delta: Any) -> Any:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "R", "model": "m", "choices": [choice], "usage": usage}


def parts(*content: Any) -> Any:
    return chunk(content=[*content])


def thought(words: Any, **more: Any) -> Any:
    return {"type": "thinking", "thinking": words, **more}


def text(words: str | None) -> Any:
    return {"type": "text", "text": words}


def call(arguments: Any, *, name: str = "peek", **more: Any) -> Any:
    return {"function": {"name": name, "arguments": arguments}, **more}


STOP = chunk(finish="stop", usage=USAGE)


# Blocks ------------------------------------------------------------------------------------------


def test_alternating_thinking_and_text_is_read_in_every_form() -> None:
    message = (
        Answer()
        .feed(
            parts(thought([text("a"), None, {"type": "reference", "reference_ids": [1]}])),
            parts(thought("b"), text("c")),
            chunk(content="d"),
            parts(thought([text("e")], signature="s"), thought([], signature="t")),
            parts({"type": "image_url", "image_url": "x"}, {"text": "f"}),
            STOP,
        )
        .message
    )

    assert message.content == (
        Thinking(thinking="ab"),
        Text(text="cd"),
        Thinking(thinking="e", thinking_signature="st"),
        Text(text="f"),
    )
    assert (message.response_id, message.response_model) == ("R", "m")


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_calls_are_joined_by_index_even_when_their_id_changes_or_is_missing() -> None:
    message = (
        Answer()
        .feed(
            chunk(tool_calls=[call('{"n":', id="aaaaaaaaa", index=0), call('{"n":', index=1)]),
            chunk(tool_calls=[call("2}", name="", id="other", index=1), None]),
            chunk(tool_calls=[call("1}", name="", id="null", index=0)], finish="tool_calls"),
            b"[DONE]",
        )
        .message
    )

    assert message.tool_calls == (
        ToolCall(id="aaaaaaaaa", name="peek", arguments={"n": 1}),
        ToolCall(id=message.tool_calls[1].id, name="peek", arguments={"n": 2}),
    )


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_calls_without_an_index_are_joined_by_id_or_to_the_last_call() -> None:
    message = (
        Answer()
        .feed(
            chunk(tool_calls=[call('{"n":1}', id="aaaaaaaaa"), call('{"n":', id="bbbbbbbbb")]),
            chunk(tool_calls=[call("2}", name="")]),
            STOP,
        )
        .message
    )

    assert [(made.id, made.arguments) for made in message.tool_calls] == [
        ("aaaaaaaaa", {"n": 1}),
        ("bbbbbbbbb", {"n": 2}),
    ]
    assert message.stop_reason == "toolUse"


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    "pieces",
    [
        ['{"a":1,"b":2}'],
        ['{"a":1', ',"b":2}'],
        [{"a": 1, "b": 2}],
        [{"a": 1}, {"b": 2}],
        ['"{\\"a\\":1,\\"b\\":2}"'],
    ],
)
def test_arguments_in_any_form_result_in_the_same_call(pieces: list[Any]) -> None:
    chunks = [chunk(tool_calls=[call(piece, id="aaaaaaaaa", index=0)]) for piece in pieces]

    (made,) = Answer().feed(*chunks, STOP).message.tool_calls

    assert made.arguments == {"a": 1, "b": 2}


@pytest.mark.behaviour("tool-call-ids-are-valid")
@pytest.mark.parametrize("missing", [None, "", "null"])
def test_a_missing_call_id_is_replaced_by_a_unique_valid_one(missing: str | None) -> None:
    calls = [call("{}", id=missing, index=0), call("{}", id=missing, index=1)]

    first, second = Answer().feed(chunk(tool_calls=calls), STOP).message.tool_calls

    assert first.id == short_id(first.id)
    assert second.id == short_id(second.id)
    assert first.id != second.id


def test_a_tool_name_can_arrive_after_the_first_piece() -> None:
    pieces = [call("{", name="", index=0), call("}", name="peek", index=0)]

    (made,) = Answer().feed(*(chunk(tool_calls=[piece]) for piece in pieces), STOP).message.content

    assert isinstance(made, ToolCall)
    assert made.name == "peek"


# Usage -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("usage-is-counted-once")
@pytest.mark.parametrize(
    "cached", [{"num_cached_tokens": 2}, {"prompt_tokens_details": {"cached_tokens": 2}}]
)
def test_cached_and_reasoning_tokens_are_not_counted_twice(cached: Any) -> None:
    counts = {**USAGE, **cached, "completion_tokens_details": {"reasoning_tokens": 1}}

    usage = Answer().feed(chunk(finish="stop", usage=counts)).message.usage

    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (1, 2, 2, 1)
    assert usage.total_tokens == 5


@pytest.mark.behaviour("usage-is-counted-once")
def test_usage_in_a_trailing_chunk_is_read() -> None:
    answer = Answer().feed(chunk(content="a", finish="stop"))
    assert not answer.decoder.finished

    answer.feed({"choices": [], "usage": USAGE})

    assert answer.message.usage.output == 2


# Ends --------------------------------------------------------------------------------------------


@pytest.mark.behaviour("missing-finish-reason-is-a-stop")
@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "toolUse"),
        ("LENGTH", "length"),
        ("something_new", "stop"),
    ],
)
def test_finish_reasons_are_translated_and_kept(reason: str, ours: str) -> None:
    message = Answer().feed(chunk(finish=reason, usage=USAGE)).message

    assert (message.stop_reason, message.raw_stop_reason) == (ours, reason)


@pytest.mark.behaviour("missing-finish-reason-is-a-stop")
def test_done_without_a_finish_reason_is_a_normal_stop() -> None:
    assert Answer().feed(chunk(content="a"), b"[DONE]").message.stop_reason == "stop"


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_without_a_finish_reason_is_a_bad_answer() -> None:
    with pytest.raises(BadAnswer, match="Stream ended without finish_reason"):
        Answer().feed(chunk(content="a", usage=USAGE)).decoder.end()


def test_a_stream_that_lacks_only_its_usage_is_complete() -> None:
    answer = Answer().feed(chunk(content="all", finish="stop"))
    answer.decoder.end()

    assert answer.message.content == (Text(text="all"),)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (
            {
                "object": "error",
                "message": "Rate limit exceeded",
                "type": "rate_limited",
                "code": "1300",
            },
            RateLimited,
        ),
        ({"error": {"message": "down", "type": "internal_server_error"}}, ProviderUnavailable),
        (
            {"error": {"message": "bad", "type": "invalid_request_error"}, "choices": "odd"},
            BadRequest,
        ),
        (chunk(finish="error", usage=USAGE), ProviderUnavailable),
        (chunk(finish="content_filter", usage=USAGE), AnswerRefused),
        (b"nonsense", BadAnswer),
        (b'{"choices":7,nonsense', BadAnswer),
    ],
)
def test_errors_in_the_stream_raise_typed_errors(event: Any, kind: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as failed:
        Answer().feed(event)

    assert type(failed.value) is kind


def test_an_event_that_is_not_json_is_quoted_in_the_error() -> None:
    with pytest.raises(BadAnswer, match="The server sent an event that is not JSON: nonsense"):
        Answer().feed(b"nonsense")


@pytest.mark.behaviour("empty-chunks-are-skipped")
@pytest.mark.parametrize(
    "event",
    [b"", b" ", b"null", b"[]", {}, {"choices": None}, {"choices": [None]}, chunk(content=None)],
)
def test_chunks_without_content_are_skipped(event: Any) -> None:
    assert Answer().feed(event, STOP).message.content == ()
