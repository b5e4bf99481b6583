from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import (
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from pi.ai.messages import AssistantMessage, Cost, Text, Thinking, ToolCall, Usage
from pi.ai.wire.pi_messages.response import EventDecoder
from pi.base.testing import FakeClock
from tests.ai.wire.pi_messages.conversation import MODEL

DONE = {"type": "done", "reason": "stop"}


class Answer:
    """A decoder that is being fed, and what it builds."""

    def __init__(self) -> None:
        self.builder = MessageBuilder(MODEL, now_ms=0)
        self.decoder = EventDecoder(self.builder, FakeClock())

    def feed(self, *events: Any) -> Answer:
        for event in events:
            raw = event if isinstance(event, bytes) else msgspec.json.encode(event)
            self.decoder.feed([("", raw)])
        return self

    @property
    def message(self) -> AssistantMessage:
        assert self.builder.final is not None
        assert self.decoder.finished
        return self.builder.final


def event(kind: str, index: int = 0, **fields: Any) -> Any:
    return {"type": kind, "contentIndex": index, **fields}


# Blocks ------------------------------------------------------------------------------------------


def test_blocks_keep_the_order_of_their_start() -> None:
    message = (
        Answer()
        .feed(
            event("thinking_start"),
            event("text_start", 1),
            event("text_delta", 1, delta="a"),
            event("thinking_end", contentSignature="s", redacted=True),
            event("text_end", 1, contentSignature="t"),
            DONE,
        )
        .message
    )

    assert message.content == (
        Thinking(thinking="", thinking_signature="s", redacted=True),
        Text(text="a", text_signature="t"),
    )


def test_content_that_arrives_only_in_the_end_event_is_read() -> None:
    message = (
        Answer()
        .feed(
            event("thinking_end", content="hm"),
            event("text_start", 1),
            event("text_end", 1, content="a"),
            event("text_delta", 2, delta="b"),
            event("text_end", 2, content="b"),
            DONE,
        )
        .message
    )

    assert message.content == (Thinking(thinking="hm"), Text(text="a"), Text(text="b"))


def test_a_delta_after_the_end_of_its_block_starts_a_new_block() -> None:
    message = (
        Answer()
        .feed(
            event("text_delta", delta="a"), event("text_end"), event("text_delta", delta="b"), DONE
        )
        .message
    )

    assert message.content == (Text(text="a"), Text(text="b"))


def call_start(index: int = 0) -> Any:
    return event("toolcall_start", index, id="c", toolName="peek")


def whole_call(arguments: Any, **more: Any) -> Any:
    call = {"type": "toolCall", "id": "c", "name": "peek", "arguments": arguments, **more}
    return event("toolcall_end", toolCall=call)


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    "events",
    [
        [event("toolcall_delta", delta='{"n":'), event("toolcall_delta", delta="1}")],
        [event("toolcall_delta", delta='{"n":1}'), whole_call({"n": 1})],
        [whole_call({"n": 1})],
        [event("toolcall_delta", delta='{"n":'), whole_call({"n": 1})],
        [event("toolcall_delta", delta='{"n":1}'), event("toolcall_end", toolCall="odd")],
    ],
)
def test_arguments_in_any_form_result_in_the_same_call(events: list[Any]) -> None:
    (call,) = Answer().feed(call_start(), *events, DONE).message.content

    assert call == ToolCall(id="c", name="peek", arguments={"n": 1})


@pytest.mark.parametrize(
    ("end", "signature", "namespace"),
    [
        (event("toolcall_end", contentSignature="s"), "s", UNSET),
        (whole_call({}, thoughtSignature="s", namespace="n"), "s", "n"),
    ],
)
def test_a_call_keeps_its_signature_and_namespace(end: Any, signature: str, namespace: Any) -> None:
    (call,) = Answer().feed(call_start(), end, DONE).message.tool_calls

    assert (call.thought_signature, call.namespace) == (signature, namespace)


# Ends --------------------------------------------------------------------------------------------


@pytest.mark.behaviour("costs-follow-the-tier")
def test_the_done_event_contains_the_usage_and_the_charge_of_the_server() -> None:
    usage = {
        "input": 10,
        "output": 5,
        "cacheRead": 100,
        "cacheWrite": 20,
        "cacheWrite1h": 15,
        "reasoning": 2,
        "totalTokens": 135,
        "cost": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "total": 10.5},
    }

    message = (
        Answer()
        .feed(
            {
                "type": "done",
                "reason": "length",
                "usage": usage,
                "responseId": "R",
                "responseModel": "claude",
                "rawStopReason": "max_tokens",
            }
        )
        .message
    )

    assert message.usage == Usage(
        input=10,
        output=5,
        cache_read=100,
        cache_write=20,
        cache_write_1h=15,
        reasoning=2,
        total_tokens=135,
        cost=Cost(total=10.5, total_from_provider=False),
    )
    assert (message.stop_reason, message.raw_stop_reason) == ("length", "max_tokens")
    assert (message.response_id, message.response_model) == ("R", "claude")


@pytest.mark.parametrize("usage", [None, "odd", {"input": "many"}, []])
def test_invalid_usage_is_ignored(usage: Any) -> None:
    assert Answer().feed({**DONE, "usage": usage}).message.usage == Usage()


@pytest.mark.parametrize(
    ("reason", "ours"), [("toolUse", "toolUse"), ("odd", "stop"), (None, "stop")]
)
def test_the_stop_reason_is_copied_and_unknown_ones_become_stop(
    reason: str | None, ours: str
) -> None:
    assert Answer().feed({"type": "done", "reason": reason}).message.stop_reason == ours


@pytest.mark.behaviour("stream-without-end-is-an-error")
def test_a_stream_without_an_end_is_a_bad_answer() -> None:
    with pytest.raises(BadAnswer, match="Stream ended without done"):
        Answer().feed(event("text_delta", delta="part")).decoder.end()


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("error-inside-a-200-stream", "rate-limit-is-not-overflow")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('429: {"type":"rate_limit_error","message":"slow down"}', RateLimited),
        ('400: {"message":"prompt is too long: 9 tokens > 8 maximum"}', ContextOverflow),
        ("503: the server gave no reason", ProviderUnavailable),
        ("The connection broke.", ProviderUnavailable),
    ],
)
def test_the_error_class_is_derived_from_the_message_of_an_error_event(
    text: str, kind: type[ProviderError]
) -> None:
    failed = {"type": "error", "reason": "error", "errorMessage": text, "usage": {"output": 3}}
    answer = Answer()

    with pytest.raises(ProviderError) as failure:
        answer.feed(failed)

    assert type(failure.value) is kind
    assert failure.value.message == text
    assert answer.builder.usage.output == 3


@pytest.mark.parametrize("text", ["429: slow down", "Rate limit: try again later"])
def test_an_error_event_can_contain_the_retry_delay(text: str) -> None:
    failed = {"type": "error", "reason": "error", "errorMessage": text, "retryAfter": 7}

    with pytest.raises(RateLimited) as failure:
        Answer().feed(failed)

    assert failure.value.retry_after == 7


def test_an_error_without_a_message_gets_a_default_one() -> None:
    with pytest.raises(ProviderError, match="did not say why"):
        Answer().feed({"type": "error"})


def test_an_answer_aborted_by_the_server_is_aborted() -> None:
    message = Answer().feed({"type": "error", "reason": "aborted"}).message

    assert message.stop_reason == "aborted"


def test_an_event_that_is_not_json_is_quoted_in_the_error() -> None:
    with pytest.raises(BadAnswer, match="The server sent an event that is not JSON: nonsense"):
        Answer().feed(b"nonsense")


@pytest.mark.parametrize("odd", [b"", b"[DONE]", b"null", b"7", {"type": "start"}, {"type": 7}])
def test_events_without_content_are_skipped(odd: Any) -> None:
    assert Answer().feed(odd, DONE).message.content == ()
