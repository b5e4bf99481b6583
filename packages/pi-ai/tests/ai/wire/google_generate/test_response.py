from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from pi.ai.builder import INVALID_ARGUMENTS
from pi.ai.errors import BadAnswer
from pi.ai.messages import Cost, Json, Text, Thinking, ToolCall, Usage
from pi.ai.wire.google_generate.response import AFTER_A_REASON, AFTER_REASONS_ONLY
from tests.ai.wire.google_generate.answers import EDIT, MODEL, answer, called, chunk, new_decoder

# Text and thoughts -------------------------------------------------------------------------------


def test_text_and_thinking_become_blocks_in_the_order_of_arrival() -> None:
    message = answer(
        chunk({"text": "Let ", "thought": True}),
        chunk({"text": "me.", "thought": True}, {"text": "One, "}),
        chunk({"text": "two."}),
        chunk({"text": "Hm.", "thought": True}, {"text": "Three."}, finish="STOP"),
    )

    assert message.content == (
        Thinking(thinking="Let me."),
        Text(text="One, two."),
        Thinking(thinking="Hm."),
        Text(text="Three."),
    )
    assert (message.stop_reason, message.raw_stop_reason) == ("stop", "STOP")


@pytest.mark.behaviour("gemini-tool-results")
def test_signatures_of_thinking_text_and_calls_are_kept() -> None:
    message = answer(
        chunk({"text": "hm", "thought": True, "thoughtSignature": "dGhvdWdodA=="}),
        chunk({"text": "calling"}),
        chunk({"text": "", "thoughtSignature": "dGV4dA=="}),
        chunk({**called("peek", {}, id="c1"), "thoughtSignature": "Y2FsbA=="}, finish="STOP"),
    )

    assert message.content == (
        Thinking(thinking="hm", thinking_signature="dGhvdWdodA=="),
        Text(text="calling", text_signature="dGV4dA=="),
        ToolCall(id="c1", name="peek", arguments={}, thought_signature="Y2FsbA=="),
    )


def test_an_empty_part_opens_no_block() -> None:
    message = answer(chunk({"text": ""}), chunk({"text": "ok"}), chunk({"text": ""}, finish="STOP"))

    assert message.content == (Text(text="ok"),)


@pytest.mark.behaviour("terminal-event-ends-the-stream")
@pytest.mark.parametrize(
    ("events", "over_after"),
    [
        ([chunk({"text": "o"}), chunk({"text": "k"}, finish="STOP")], AFTER_A_REASON),
        ([chunk({"text": "ok"}, finish="STOP")], AFTER_REASONS_ONLY),
        ([chunk({"text": "ok"}, finish="STOP"), {"usageMetadata": {}}], AFTER_REASONS_ONLY),
        ([chunk({"text": "ok"})], None),
    ],
)
def test_an_answer_with_a_finish_reason_ends_after_a_short_silence(
    events: list[Json], over_after: float | None
) -> None:
    decoder, _ = new_decoder()

    for event in events:
        decoder.feed([("", json.dumps(event).encode())])

    assert (decoder.over_after, decoder.finished) == (over_after, False)


@pytest.mark.parametrize("reason", ["STOP", "FINISH_REASON_UNSPECIFIED"])
def test_a_finish_reason_in_every_event_does_not_end_the_answer_early(reason: str) -> None:
    message = answer(
        chunk({"text": "hm", "thought": True}, finish=reason),
        chunk({"text": "one "}, finish=reason),
        chunk({"text": "two"}, finish=reason),
        chunk(called("peek", {}, id="x"), finish="STOP"),
    )

    assert message.content == (
        Thinking(thinking="hm"),
        Text(text="one two"),
        ToolCall(id="x", name="peek", arguments={}),
    )
    assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "STOP")


def test_the_last_of_several_finish_reasons_is_used() -> None:
    cut = answer(chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="MAX_TOKENS"))
    done = answer(chunk({"text": "a"}, finish="STOP"), b"[DONE]")

    assert (cut.text, cut.stop_reason) == ("ab", "length")
    assert (done.stop_reason, done.raw_stop_reason) == ("stop", "STOP")


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_that_ends_without_a_finish_reason_is_an_error() -> None:
    decoder, _ = new_decoder()
    decoder.feed([("", json.dumps(chunk({"text": "part"})).encode())])

    with pytest.raises(BadAnswer, match="without finishReason") as caught:
        decoder.end()

    assert caught.value.retryable


@pytest.mark.behaviour("missing-finish-reason-is-a-stop")
@pytest.mark.parametrize(("reason", "stop"), [("stop", "stop"), ("max_tokens", "length")])
def test_finish_reasons_are_case_insensitive(reason: str, stop: str) -> None:
    assert answer(chunk({"text": "ok"}, finish=reason)).stop_reason == stop


@pytest.mark.behaviour("sse-reader-is-lenient", "missing-finish-reason-is-a-stop")
def test_a_done_event_can_replace_the_finish_reason() -> None:
    text_answer = answer(chunk({"text": "ok"}), b"[DONE]")
    call_answer = answer(chunk(called("peek", {})), b"[DONE]")

    assert (text_answer.stop_reason, text_answer.raw_stop_reason) == ("stop", UNSET)
    assert call_answer.stop_reason == "toolUse"
    with pytest.raises(BadAnswer):
        answer(b"[DONE]")


@pytest.mark.behaviour("empty-chunks-are-skipped")
@pytest.mark.parametrize(
    "nothing",
    [
        b"null",
        b"[]",
        b"",
        b"  ",
        b'"text"',
        b"7",
        b"{}",
        b'{"candidates":null}',
        b'{"candidates":[null]}',
        b'{"candidates":[{"content":null}]}',
        b'{"candidates":[{"content":{"parts":[null,{"text":null}]}}]}',
        b'{"candidates":"none","usageMetadata":7,"promptFeedback":[]}',
        b'{"candidates":[{"content":{"parts":{"text":"x"}},"finishReason":7}]}',
        b'{"promptFeedback":{"safetyRatings":[]}}',
    ],
)
def test_an_event_without_content_is_skipped(nothing: bytes) -> None:
    message = answer(chunk({"text": "o"}), nothing, chunk({"text": "k"}, finish="STOP"))

    assert message.content == (Text(text="ok"),)


def test_the_response_id_and_a_different_model_are_recorded() -> None:
    same = answer(chunk({"text": "ok"}, finish="STOP", responseId="r", modelVersion=MODEL.id))
    other = answer(chunk({"text": "ok"}, finish="STOP", modelVersion="models/gemini-3-pro"))

    assert (same.response_id, same.response_model) == ("r", UNSET)
    assert other.response_model == "gemini-3-pro"


# Calls -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("tool-deltas-join-by-index")
def test_parallel_calls_do_not_mix_their_arguments() -> None:
    message = answer(
        chunk(called("peek", {"path": "a"}, id="x"), called("peek", {"path": "b"}, id="y")),
        chunk({"text": ""}, finish="STOP"),
    )

    assert message.content == (
        ToolCall(id="x", name="peek", arguments={"path": "a"}),
        ToolCall(id="y", name="peek", arguments={"path": "b"}),
    )
    assert message.stop_reason == "toolUse"


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_calls_with_a_missing_or_repeated_id_get_a_unique_one() -> None:
    message = answer(
        chunk(called("peek"), called("peek", id="x"), called("peek", id="x"), finish="STOP")
    )

    ids = [call.id for call in message.tool_calls]
    assert ids[1] == "x"
    assert all(ids)
    assert len(set(ids)) == 3


@pytest.mark.behaviour("argument-forms-are-equal", "gemini-tool-results")
@pytest.mark.parametrize(
    ("args", "arguments"),
    [
        (UNSET, {}),
        (None, {}),
        ({"path": "a"}, {"path": "a"}),
        ('{"path": "a"}', {"path": "a"}),
        ("", {}),
    ],
)
def test_arguments_can_be_missing_an_object_or_text(args: Any, arguments: Json) -> None:
    message = answer(chunk(called("peek", args), finish="STOP"))

    assert [call.arguments for call in message.tool_calls] == [arguments]
    assert message.diagnostics is UNSET


@pytest.mark.parametrize("args", [[1], 7, "{half"])
def test_arguments_that_are_not_an_object_are_reported(args: Any) -> None:
    message = answer(chunk(called("peek", args, id="x"), finish="STOP"))

    assert isinstance(message.diagnostics, tuple)
    assert [note["type"] for note in message.diagnostics] == [INVALID_ARGUMENTS]


@pytest.mark.behaviour("gemini-empty-stop-is-retried")
def test_flattened_arguments_of_a_known_tool_are_rebuilt() -> None:
    args = {"edits[0].path": "x", "edits[0].text": "y", "a.b": 1}

    known = answer(chunk(called("edit", args), finish="STOP"), tools=(EDIT,))
    unknown = answer(chunk(called("other", args), finish="STOP"), tools=(EDIT,))

    assert known.tool_calls[0].arguments == {"a.b": 1, "edits": [{"path": "x", "text": "y"}]}
    assert unknown.tool_calls[0].arguments == args


# Usage -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("usage-is-counted-once")
def test_cached_input_and_thinking_tokens_are_counted_once() -> None:
    counts = {
        "promptTokenCount": 110,
        "cachedContentTokenCount": 100,
        "toolUsePromptTokenCount": 3,
        "candidatesTokenCount": 8,
        "thoughtsTokenCount": 12,
        "totalTokenCount": 133,
    }

    message = answer(chunk({"text": "ok"}, finish="STOP", usageMetadata=counts))

    assert message.usage == Usage(
        input=13,
        output=20,
        cache_read=100,
        reasoning=12,
        total_tokens=133,
        cost=Cost(total_from_provider=False),
    )


@pytest.mark.behaviour("usage-is-not-erased")
def test_a_later_event_does_not_erase_earlier_counts() -> None:
    message = answer(
        chunk({"text": "a"}, usageMetadata={"promptTokenCount": 9, "cachedContentTokenCount": 4}),
        chunk({"text": "b"}, usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 2}),
        chunk({"text": "c"}, usageMetadata={}),
        chunk({"text": "d"}, finish="STOP"),
    )

    assert message.usage == Usage(
        input=5,
        output=2,
        cache_read=4,
        reasoning=0,
        total_tokens=11,
        cost=Cost(total_from_provider=False),
    )


def test_the_usage_is_available_while_the_answer_streams() -> None:
    decoder, builder = new_decoder()
    event = chunk({"text": "a"}, usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 1})

    decoder.feed([("", json.dumps(event).encode())])

    assert builder.message().usage == Usage(
        input=9, output=1, reasoning=0, total_tokens=10, cost=Cost(total_from_provider=False)
    )
