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
from pi.ai.events import (
    Done,
    Start,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.messages import Text, Thinking
from tests.ai.wire.openai_completions.chats import (
    DONE,
    STOP,
    Answer,
    call_with,
    calls,
    chunk,
    counts,
    decoded,
    model_with,
    peeked,
    says,
)


def test_all_blocks_end_in_order_after_the_last_delta() -> None:
    answer = decoded(
        chunk({"reasoning_content": "let me look"}),
        *says("Reading ", "it."),
        calls({"index": 0, "id": "c", "function": {"name": "peek", "arguments": '{"path":'}}),
        calls({"index": 0, "function": {"arguments": '"a"}'}}),
        chunk(finish="tool_calls"),
        DONE,
    )

    assert answer.events == (
        Start(),
        ThinkingStart(content_index=0),
        ThinkingDelta(content_index=0, delta="let me look"),
        TextStart(content_index=1),
        TextDelta(content_index=1, delta="Reading "),
        TextDelta(content_index=1, delta="it."),
        ToolCallStart(content_index=2, id="c", tool_name="peek"),
        ToolCallDelta(content_index=2, delta='{"path":'),
        ToolCallDelta(content_index=2, delta='"a"}'),
        ThinkingEnd(content_index=0, content="let me look"),
        TextEnd(content_index=1, content="Reading it."),
        ToolCallEnd(content_index=2, tool_call=peeked("c", path="a")),
        Done(reason="toolUse", message=answer.message),
    )


# How it ends -------------------------------------------------------------------------------------


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_without_a_finish_reason_and_without_done_is_an_error() -> None:
    answer = decoded(*says("part"))

    assert type(answer.failure) is BadAnswer
    assert answer.failure.retryable
    assert answer.message.error_message == "Stream ended without finish_reason"
    assert answer.message.text == "part"


@pytest.mark.behaviour("missing-finish-reason-is-a-stop")
def test_done_after_text_is_a_stop_even_without_a_finish_reason() -> None:
    message = decoded(*says("ok"), DONE).message

    assert (message.stop_reason, message.raw_stop_reason) == ("stop", UNSET)


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_done_without_content_is_an_error() -> None:
    assert type(decoded(DONE).failure) is BadAnswer


def test_a_finish_reason_completes_the_answer_without_done() -> None:
    message = decoded(*says("ok"), chunk(finish="STOP")).message

    assert (message.stop_reason, message.raw_stop_reason) == ("stop", "STOP")


def test_servers_without_finish_reasons_can_end_the_stream_after_text() -> None:
    call = call_with(model=model_with({"supportsFinishReason": False}))

    assert decoded(*says("ok"), call=call).message.stop_reason == "stop"
    assert type(decoded(call=call).failure) is BadAnswer


@pytest.mark.behaviour("terminal-event-ends-the-stream")
def test_a_finish_reason_and_the_usage_end_the_answer_immediately() -> None:
    assert decoded(*says("ok"), STOP, counts(prompt_tokens=1, completion_tokens=1)).finished
    assert not decoded(*says("ok"), STOP).finished


def test_filtered_answers_are_errors_that_keep_their_text_and_usage() -> None:
    answer = decoded(
        *says("part"),
        chunk(finish="content_filter"),
        counts(prompt_tokens=3, completion_tokens=2),
    )

    assert type(answer.failure) is AnswerRefused
    assert answer.message.error_message == "Provider finish_reason: content_filter"
    assert answer.message.text == "part"
    assert answer.message.usage.output == 2


# What arrives ------------------------------------------------------------------------------------


@pytest.mark.behaviour("empty-chunks-are-skipped")
@pytest.mark.parametrize(
    "odd",
    [
        b"null",
        b"{}",
        b'{"choices":null}',
        b'{"choices":[]}',
        b'{"choices":[null]}',
        b'{"choices":[{}]}',
        b'{"choices":[{"delta":null}]}',
        b'{"choices":[{"delta":{"content":null,"tool_calls":null}}]}',
        b'{"choices":[{"delta":{"content":7,"refusal":{},"tool_calls":"x"}}]}',
        b'{"choices":[{"delta":{"content":[]},"finish_reason":7,"usage":[]}],"usage":"x"}',
        b'{"choices":"none"}',
        b'{"choices":[{"delta":{},"finish_reason":""}],"error":null}',
        b"",
    ],
)
def test_empty_and_unexpected_events_are_ignored(odd: bytes) -> None:
    message = decoded(odd, *says("o"), odd, *says("k"), odd, STOP, odd, DONE).message

    assert message.content == (Text(text="ok"),)
    assert message.stop_reason == "stop"


def test_content_can_be_a_list_of_parts() -> None:
    parts = [{"type": "text", "text": "o"}, None, {"type": "x"}, {"type": "text", "text": "k"}]

    assert decoded(chunk({"content": parts}), STOP).message.text == "ok"


def test_a_refusal_is_visible_text() -> None:
    assert decoded(chunk({"refusal": "I cannot."}), STOP).message.text == "I cannot."


@pytest.mark.behaviour("chat-text-and-tools-together")
def test_text_and_calls_in_one_delta_are_both_kept_in_one_block_each() -> None:
    def both(text: str, arguments: str) -> bytes:
        call = {"index": 0, "id": "c", "function": {"name": "peek", "arguments": arguments}}
        return chunk({"content": text, "tool_calls": [call]})

    answer = decoded(both("cal", '{"path":'), both("ling", '"a"}'), chunk(finish="tool_calls"))

    assert answer.message.content == (Text(text="calling"), peeked("c", path="a"))


def test_an_answer_can_be_spread_over_several_choices() -> None:
    choices = [
        {"delta": {"content": "o"}},
        {"delta": {"content": "k"}, "finish_reason": "stop"},
    ]

    assert decoded(chunk(choices=choices)).message.text == "ok"


def test_thinking_between_texts_becomes_separate_blocks() -> None:
    answer = decoded(
        chunk({"reasoning": "one"}), *says("a"), chunk({"reasoning": "two"}), *says("b"), STOP
    )

    assert answer.message.content == (
        Thinking(thinking="one", thinking_signature="reasoning"),
        Text(text="a"),
        Thinking(thinking="two", thinking_signature="reasoning"),
        Text(text="b"),
    )


@pytest.mark.behaviour("chat-think-tags")
def test_think_tags_in_visible_text_become_thinking_without_a_signature() -> None:
    answer = decoded(*says("<th", "ink>h", "m</think>", "\n\nok `<think>` <"), STOP)

    assert answer.message.content == (Thinking(thinking="hm"), Text(text="ok `<think>` <"))


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("error-inside-a-200-stream")
@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (b'{"error":{"message":"slow down","code":429}}', RateLimited),
        (b'{"error":{"message":"x","code":"insufficient_quota"}}', QuotaExhausted),
        (b'{"error":{"message":"x","code":"context_length_exceeded"}}', ContextOverflow),
        (b'{"error":"upstream is overloaded"}', ProviderUnavailable),
        (b'{"object":"error","message":"engine died","code":500}', ProviderUnavailable),
        (chunk(finish="error"), ProviderUnavailable),
        (
            b'{"choices":[{"delta":{"content":""},"finish_reason":"error",'
            b'"error":{"code":502,"message":"Provider disconnected"}}]}',
            ProviderUnavailable,
        ),
    ],
    ids=["429", "quota", "overflow", "string", "vllm", "reason", "in the choice"],
)
def test_an_error_inside_the_stream_is_classified(event: bytes, kind: type[ProviderError]) -> None:
    answer = decoded(*says("part <"), event, DONE)

    assert type(answer.failure) is kind
    assert answer.message.text == "part <"


@pytest.mark.behaviour("local-bad-tool-json")
def test_a_tool_call_that_the_server_cannot_read_is_not_retried() -> None:
    event = (
        b'{"error":{"code":500,"type":"server_error","message":'
        b'"Failed to parse tool call arguments as JSON: unexpected end of input"}}'
    )

    problem = decoded(event).failure

    assert problem is not None
    assert not problem.retryable


def test_an_event_that_is_not_json_is_an_error() -> None:
    answer = decoded(*says("part"), b'{"choices":[')

    assert type(answer.failure) is BadAnswer
    assert answer.message.text == "part"


# What it cost ------------------------------------------------------------------------------------

USAGE = {
    "prompt_tokens": 110,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 100},
}
PRICES = {"input": 1, "output": 10, "cacheRead": 0.1, "cacheWrite": 0}
PRICE = (10 * 1 + 5 * 10 + 100 * 0.1) / 1_000_000


def used(answer: Answer) -> tuple[int, int, int]:
    usage = answer.message.usage
    return usage.input, usage.output, usage.cache_read


@pytest.mark.behaviour("usage-is-counted-once")
def test_usage_is_read_in_the_choice_in_the_last_chunk_and_after_it() -> None:
    choice = {"delta": {}, "finish_reason": "stop", "usage": USAGE}

    assert used(decoded(*says("ok"), chunk(choices=[choice]))) == (10, 5, 100)
    assert used(decoded(*says("ok"), chunk(choices=[choice], usage=USAGE))) == (10, 5, 100)
    assert used(decoded(*says("ok"), chunk(finish="stop", usage=USAGE))) == (10, 5, 100)
    assert used(decoded(*says("ok"), STOP, counts(**USAGE), DONE)) == (10, 5, 100)


@pytest.mark.behaviour("usage-is-not-erased")
def test_later_events_without_usage_do_not_erase_it() -> None:
    zeros = {"prompt_tokens": 0, "completion_tokens": 0}

    answer = decoded(chunk(usage=USAGE), *says("ok"), chunk(finish="stop", usage=zeros), DONE)

    assert used(answer) == (10, 5, 100)


@pytest.mark.behaviour("costs-follow-the-tier")
def test_the_charge_reported_by_the_server_is_the_cost() -> None:
    answer = decoded(*says("ok"), STOP, counts(**USAGE, cost=0.5))

    assert answer.message.usage.cost.total == 0.5


def cost(base_url: str, tier: str) -> float:
    call = call_with(model=model_with(cost=PRICES, baseUrl=base_url))
    answer = decoded(chunk({"content": "ok"}, service_tier=tier), STOP, counts(**USAGE), call=call)
    return answer.message.usage.cost.total


@pytest.mark.behaviour("costs-follow-the-tier")
@pytest.mark.parametrize(("tier", "factor"), [("flex", 0.5), ("priority", 2), ("default", 1)])
def test_openais_service_tiers_change_the_price(tier: str, factor: float) -> None:
    assert cost("https://api.openai.com/v1", tier) == pytest.approx(PRICE * factor)


def test_service_tiers_of_other_providers_do_not_change_the_price() -> None:
    assert cost("https://api.groq.com/openai/v1", "flex") == pytest.approx(PRICE)


def test_the_response_id_and_a_different_model_are_recorded() -> None:
    nameless = chunk({"content": "o"}, id="", model="")
    named = chunk({"content": "k"}, id="gen-1", model="m-2026")

    message = decoded(nameless, named, STOP).message

    assert (message.response_id, message.response_model) == ("gen-1", "m-2026")
    assert decoded(*says("ok"), STOP).message.response_model is UNSET
