from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.builder import INVALID_ARGUMENTS, MessageBuilder
from pi.ai.errors import AnswerRefused, BadAnswer, ProviderError, ProviderUnavailable
from pi.ai.messages import AssistantMessage, Cost, Json, Text, Thinking, ToolCall, Usage
from pi.ai.wire.anthropic_messages.response import MessagesDecoder
from pi.ai.wire_support.sse import SseReader
from tests.ai.wire.anthropic_messages.talk import PLAIN

RECORDINGS = Path(__file__).parents[1] / "recordings" / "anthropic-messages"
STOP: Json = {"type": "message_stop"}


class Answer:
    """A decoder with its builder, fed with events as values."""

    def __init__(self) -> None:
        self.builder = MessageBuilder(PLAIN, now_ms=0)
        self.decoder = MessagesDecoder(self.builder)

    def feed(self, *events: Any, name: str = "") -> Answer:
        for event in events:
            data = event if isinstance(event, bytes) else json.dumps(event).encode()
            self.decoder.feed([(name, data)])
        return self

    @property
    def message(self) -> AssistantMessage:
        assert self.builder.final is not None
        return self.builder.final


def block(index: int, **content: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **content: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": content}


def text_delta(words: str, index: int = 0) -> Json:
    return delta(index, type="text_delta", text=words)


def because(reason: str | None, **more: Any) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": reason, **more}}


def answered(*events: Any) -> AssistantMessage:
    return Answer().feed(*events, STOP).message


# Blocks ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("anthropic-block-start-content")
def test_the_content_of_a_block_start_is_kept() -> None:
    message = answered(
        block(0, type="thinking", thinking="Let ", signature="c2"),
        delta(0, type="thinking_delta", thinking="me."),
        delta(0, type="signature_delta", signature="ln"),
        block(1, type="text", text="4"),
        text_delta("2", 1),
    )

    assert message.content == (
        Thinking(thinking="Let me.", thinking_signature="c2ln"),
        Text(text="42"),
    )


@pytest.mark.behaviour("empty-and-redacted-thinking-survives")
def test_thinking_without_text_keeps_its_signature() -> None:
    message = answered(
        block(0, type="thinking", thinking="", signature=""),
        delta(0, type="signature_delta", signature="c2ln"),
        block(1, type="redacted_thinking", data="DATA"),
    )

    assert message.content == (
        Thinking(thinking="", thinking_signature="c2ln"),
        Thinking(thinking="", thinking_signature="DATA", redacted=True),
    )


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    "pieces",
    [
        [block(0, type="tool_use", id="c", name="peek", input={"path": "x", "n": 1})],
        [block(0, type="tool_use", id="c", name="peek", input='{"path": "x", "n": 1}')],
        [
            block(0, type="tool_use", id="c", name="peek", input={"path": "old"}),
            delta(0, type="input_json_delta", partial_json='{"path": "x",'),
            delta(0, type="input_json_delta", partial_json=' "n": 1}'),
        ],
        [
            block(0, type="tool_use", id="c", name="peek", input={}),
            delta(0, type="input_json_delta", partial_json={"path": "x"}),
            delta(0, type="input_json_delta", partial_json={"n": 1}),
        ],
        [
            block(0, type="tool_use", id="c", name="peek"),
            delta(0, type="input_json_delta", partial_json=json.dumps('{"path": "x", "n": 1}')),
        ],
    ],
)
def test_arguments_in_every_form_result_in_the_same_call(pieces: list[Json]) -> None:
    message = answered(*pieces)

    assert message.content == (ToolCall(id="c", name="peek", arguments={"path": "x", "n": 1}),)


@pytest.mark.behaviour("anthropic-bad-tool-json")
def test_arguments_that_are_not_json_are_reported() -> None:
    message = answered(
        block(0, type="tool_use", id="c", name="peek", input={}),
        delta(0, type="input_json_delta", partial_json='{"path": oops'),
        because("tool_use"),
    )

    assert message.stop_reason == "toolUse"
    assert message.diagnostics == (
        {
            "type": INVALID_ARGUMENTS,
            "timestamp": 0,
            "details": {"toolCallId": "c", "text": '{"path": oops'},
        },
    )


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_calls_without_ids_get_unique_ids_and_never_mix_arguments() -> None:
    message = answered(
        block(0, type="tool_use", id="", name="peek", input={}),
        block(1, type="tool_use", id=None, name="peek", input={}),
        delta(1, type="input_json_delta", partial_json='{"path": "b"}'),
        delta(0, type="input_json_delta", partial_json='{"path": "a"}'),
    )

    first, second = message.tool_calls
    assert (first.arguments, second.arguments) == ({"path": "a"}, {"path": "b"})
    assert first.id
    assert second.id
    assert first.id != second.id


def test_server_tools_and_citations_are_ignored() -> None:
    message = answered(
        block(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json='{"query": "x"}'),
        {"type": "content_block_stop", "index": 0},
        block(1, type="web_search_tool_result", tool_use_id="s", content=[]),
        block(2, type="text", text="", citations=[]),
        delta(2, type="citations_delta", citation={"cited_text": "no"}),
        text_delta("yes", 2),
    )

    assert message.content == (Text(text="yes"),)


def test_blocks_of_different_types_with_the_same_index_are_kept_separate() -> None:
    message = answered(
        block(0, type="text", text="a"),
        delta(0, type="thinking_delta", thinking="b"),
        block(0, type="tool_use", id="c", name="peek", input={}),
        text_delta("d"),
    )

    assert message.content == (
        Text(text="ad"),
        Thinking(thinking="b"),
        ToolCall(id="c", name="peek", arguments={}),
    )


# Around them -------------------------------------------------------------------------------------


@pytest.mark.behaviour("usage-is-not-erased", "anthropic-block-start-content")
def test_the_last_event_may_lack_usage() -> None:
    start = {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "m-2026", "usage": {"input_tokens": 12}},
    }

    message = answered(start, text_delta("ok"), because("end_turn"))

    assert message.usage == Usage(
        input=12, reasoning=0, total_tokens=12, cost=Cost(total_from_provider=False)
    )
    assert (message.response_id, message.response_model) == ("msg_1", "m-2026")


def test_the_fallback_model_of_the_server_becomes_the_response_model() -> None:
    start = {"type": "message_start", "message": {"id": "msg_1", "model": "m"}}
    fallback = {"from": {"model": "m"}, "to": {"model": "other"}}

    message = answered(start, block(0, type="fallback", **fallback), text_delta("ok", 1))

    assert message.response_model == "other"
    assert message.content == (Text(text="ok"),)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("END_TURN", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "toolUse"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "stop"),
    ],
)
def test_a_stop_reason_is_translated_and_kept(reason: str, stop: str) -> None:
    message = answered(text_delta("ok"), because(reason))

    assert (message.stop_reason, message.raw_stop_reason) == (stop, reason)


@pytest.mark.behaviour("gemini-bad-stops")
def test_a_call_truncated_by_the_token_limit_has_the_stop_reason_length() -> None:
    call = block(0, type="tool_use", id="c", name="peek", input={})

    assert answered(call, because("max_tokens")).stop_reason == "length"


@pytest.mark.behaviour("anthropic-refusals-explain")
def test_a_refusal_contains_its_reason() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}
    answer = Answer().feed(
        text_delta("part"), because("refusal", stop_details=details), because(None)
    )

    with pytest.raises(AnswerRefused, match=r"The model declined to answer: It could do harm\."):
        answer.feed(STOP)

    assert answer.decoder.finished
    failed = answer.builder.message("error")
    assert (failed.text, failed.raw_stop_reason) == ("part", "refusal")


@pytest.mark.behaviour("anthropic-refusals-explain")
@pytest.mark.parametrize(
    ("reason", "error"), [("sensitive", AnswerRefused), ("pause_turn", BadAnswer)]
)
def test_an_unfinished_answer_raises(reason: str, error: type[ProviderError]) -> None:
    with pytest.raises(error, match=r"explanation|pause_turn"):
        Answer().feed(text_delta("part"), because(reason), STOP)


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize("kind", [{"type": "error"}, {}])
def test_an_error_in_the_stream_is_raised_by_its_kind(kind: Json) -> None:
    answer = Answer().feed(text_delta("part"))

    with pytest.raises(ProviderUnavailable, match="Overloaded"):
        answer.feed({**kind, "error": {"type": "overloaded_error", "message": "Overloaded"}})

    assert answer.decoder.finished


@pytest.mark.behaviour("stream-without-end-is-an-error")
@pytest.mark.parametrize("last", [text_delta("part"), because("end_turn")])
def test_a_stream_that_ends_without_its_last_event_is_an_error(last: Json) -> None:
    answer = Answer().feed(text_delta("part"), last)

    with pytest.raises(BadAnswer, match="ended before the answer was complete"):
        answer.decoder.end()


def test_a_done_event_ends_an_answer_only_after_a_stop_reason() -> None:
    answer = Answer().feed(text_delta("ok"))

    with pytest.raises(BadAnswer, match="ended before the answer was complete"):
        answer.feed(b"[DONE]")
    answer.feed(because("end_turn"), b"[DONE]")

    assert answer.decoder.finished
    assert answer.message.stop_reason == "stop"


def test_the_event_name_is_used_if_the_type_is_missing() -> None:
    answer = Answer().feed(text_delta("ok"), because("end_turn")).feed({}, name="message_stop")

    assert answer.message.text == "ok"


@pytest.mark.behaviour("lone-surrogates-are-cleaned")
def test_a_lone_surrogate_is_removed() -> None:
    raw = (
        rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}'
    )

    assert answered(raw, text_delta("b")).text == "ab"


@pytest.mark.parametrize("data", [b"{", b"nonsense", b"[" * 100_000])
def test_an_event_that_is_not_json_is_a_bad_answer(data: bytes) -> None:
    with pytest.raises(BadAnswer, match="not JSON"):
        Answer().feed(data)


# Whatever comes ----------------------------------------------------------------------------------

TYPES = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
]
FIELDS = ["text", "thinking", "signature", "partial_json", "data", "id", "input", "usage"]
anything = st.sampled_from([None, True, -1, 1.5, float("nan"), "", "x", "{", [], [1], {}, {"a": 1}])
parts = anything | st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(FIELDS), anything, max_size=3),
)
events = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(TYPES),
    st.dictionaries(
        st.sampled_from(["index", "delta", "content_block", "message", "usage"]), parts, max_size=3
    ),
)


@given(st.lists(events, max_size=8))
def test_events_of_any_shape_raise_nothing_but_provider_errors(shapes: list[Json]) -> None:
    answer = Answer()

    try:
        answer.feed(*shapes, STOP)
    except ProviderError as error:
        answer.builder.fail(error)

    assert answer.builder.final is not None


@given(st.data())
def test_a_mutated_recording_raises_nothing_but_provider_errors(data: st.DataObject) -> None:
    recordings = sorted(RECORDINGS.glob("*.http"))
    body = data.draw(st.sampled_from(recordings)).read_bytes().partition(b"\r\n\r\n")[2]
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(start + 40, len(body))))
    mutated = body[:start] + data.draw(st.binary(max_size=8)) + body[end:]
    answer, reader = Answer(), SseReader()

    try:
        for name, event in (*reader.feed(mutated), *reader.finish()):
            if not answer.decoder.finished:
                answer.decoder.feed([(name, event)])
        if not answer.decoder.finished:
            answer.decoder.end()
    except ProviderError as error:
        answer.builder.fail(error)

    assert answer.builder.final is not None
