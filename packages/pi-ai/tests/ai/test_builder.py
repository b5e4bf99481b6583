from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pi.ai.builder import INVALID_ARGUMENTS, KEPT_OF_TOO_LARGE, MAX_PARTS, MessageBuilder
from pi.ai.errors import AnswerTooLarge, ProviderUnavailable
from pi.ai.events import (
    Done,
    Failed,
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
from pi.ai.messages import AssistantMessage, Cost, Text, Thinking, ToolCall, Usage
from pi.ai.models.model import Model, ModelCost

MODEL = Model(id="m", name="M", api="a", provider="p", cost=ModelCost(input=1, output=2))


def builder() -> MessageBuilder:
    return MessageBuilder(MODEL, now_ms=7)


def test_the_events_and_the_message_of_an_answer_with_three_block_types_agree() -> None:
    made = builder()
    made.start()
    made.thinking("t", "hm").signature = "sig"
    made.end("t")
    made.text("x", "Hel")
    made.text("x", "lo")
    made.tool_call("c", "call_1", "peek")
    made.arguments("c", '{"pa')
    made.arguments("c", 'th":"a"}')
    made.usage = Usage(input=1_000_000, output=500_000)
    made.finish("toolUse")

    call = ToolCall(id="call_1", name="peek", arguments={"path": "a"})
    message = AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature="sig"), Text(text="Hello"), call),
        api="a",
        provider="p",
        model="m",
        usage=Usage(
            input=1_000_000,
            output=500_000,
            reasoning=0,
            total_tokens=1_500_000,
            cost=Cost(input=1.0, output=1.0, total=2.0, total_from_provider=False),
        ),
        stop_reason="toolUse",
        timestamp=7,
    )
    assert made.take() == [
        Start(),
        ThinkingStart(content_index=0),
        ThinkingDelta(content_index=0, delta="hm"),
        ThinkingEnd(content_index=0, content="hm"),
        TextStart(content_index=1),
        TextDelta(content_index=1, delta="Hel"),
        TextDelta(content_index=1, delta="lo"),
        ToolCallStart(content_index=2, id="call_1", tool_name="peek"),
        ToolCallDelta(content_index=2, delta='{"pa'),
        ToolCallDelta(content_index=2, delta='th":"a"}'),
        TextEnd(content_index=1, content="Hello"),
        ToolCallEnd(content_index=2, tool_call=call),
        Done(reason="toolUse", message=message),
    ]
    assert made.final == message


def test_a_failure_keeps_the_content_received_so_far() -> None:
    made = builder()
    made.text(0, "part")
    made.take()

    made.fail(ProviderUnavailable("down"))

    kept = made.final
    assert kept is not None
    assert (kept.content, kept.stop_reason, kept.error_message) == (
        (Text(text="part"),),
        "error",
        "down",
    )
    assert made.take() == [
        TextEnd(content_index=0, content="part"),
        Failed(reason="error", error=kept),
    ]


def test_an_answer_ends_with_exactly_one_terminal_event() -> None:
    made = builder()
    made.finish("stop")
    made.abort()
    made.fail(ProviderUnavailable("late"))
    made.finish("length")

    assert [type(event) for event in made.take()] == [Done]


@pytest.mark.behaviour("tool-call-ids-are-valid")
def test_a_missing_or_repeated_call_id_is_replaced() -> None:
    made = builder()
    made.tool_call(0, "", "a")
    made.tool_call(1, "x", "b")
    made.tool_call(2, "x", "c")

    ids = [call.id for call in made.message().tool_calls]

    assert ids == ["call_7_0", "x", "call_7_2"]


def test_invalid_json_arguments_are_recorded_in_the_diagnostics() -> None:
    made = builder()
    made.tool_call(0, "c", "peek")
    made.arguments(0, '{"path": nonsense')

    made.finish("toolUse")

    assert made.final is not None
    assert made.final.diagnostics == (
        {
            "type": INVALID_ARGUMENTS,
            "timestamp": 7,
            "details": {"toolCallId": "c", "text": '{"path": nonsense'},
        },
    )


def test_the_cost_is_calculated_with_the_model_that_answered() -> None:
    served = Model(id="big", name="Big", api="a", provider="p", cost=ModelCost(input=10))
    made = MessageBuilder(MODEL, now_ms=0, find_model={"big": served}.get)
    made.usage = Usage(input=1_000_000)

    asked = made.message().usage.cost.total
    made.response_model = "big"

    assert (asked, made.message().usage.cost.total) == (1.0, 10.0)


def test_the_response_model_is_unset_if_it_is_the_requested_model() -> None:
    made = builder()
    made.response_model = "m"

    assert made.message().response_model is UNSET


@given(st.lists(st.text(), max_size=30))
def test_the_deltas_of_a_block_add_up_to_its_content(deltas: list[str]) -> None:
    made = builder()
    for delta in deltas:
        made.text(0, delta)
    made.finish("stop")

    events = made.take()
    joined = "".join(event.delta for event in events if isinstance(event, TextDelta))
    assert made.final is not None
    assert joined == made.final.text == "".join(deltas)


@pytest.mark.behaviour("streaming-is-linear")
def test_reading_the_partial_message_does_not_slow_down_later_deltas() -> None:
    made = builder()
    for _ in range(100):
        made.text(0, "x")
        made.message()

    block = made.find(0)

    assert block is not None
    assert len(block.parts) == 1


def test_a_repeated_start_emits_only_one_start_event() -> None:
    made = builder()
    made.start()
    made.start()

    assert made.take() == [Start()]


def test_a_delta_after_the_end_of_its_block_starts_a_new_block() -> None:
    made = builder()
    for delta in ("one", "two"):
        made.text(0, delta)
        made.end(0)
    made.thinking(1, "hm")
    made.end(1)
    made.thinking(1, "").signature = "late"
    made.finish("stop")

    assert made.final is not None
    assert made.final.content == (
        Text(text="one"),
        Text(text="two"),
        Thinking(thinking="hm", thinking_signature="late"),
    )


def test_a_completed_call_cannot_be_changed() -> None:
    made = builder()
    block = made.tool_call(0, "c", "peek")
    made.arguments(0, '{"a":1}')
    made.end(0)
    made.arguments(0, "more")
    block.arguments = {"a": 2}

    assert made.message().tool_calls[0].arguments == {"a": 1}


def test_an_answer_that_is_too_large_keeps_the_start_of_each_block() -> None:
    made = builder()
    made.text("x", "a" * 3_000_000)
    made.tool_call("c", "c1", "write")
    made.arguments("c", '{"content":"' + "b" * 3_000_000)
    made.fail(AnswerTooLarge("The answer exceeds the limit."))

    assert made.final is not None
    text, call = made.final.content
    assert isinstance(text, Text) and isinstance(call, ToolCall)
    assert text.text == "a" * KEPT_OF_TOO_LARGE
    assert KEPT_OF_TOO_LARGE - 20 < len(call.arguments["content"]) < KEPT_OF_TOO_LARGE
    assert made.final.error_message == "The answer exceeds the limit."


def test_the_arguments_of_a_completed_call_are_parsed_once() -> None:
    made = builder()
    made.tool_call("c", "c1", "write")
    made.arguments("c", '{"content":"b"}')
    made.finish("toolUse")

    ended = next(event for event in made.take() if isinstance(event, ToolCallEnd))
    assert made.final is not None
    assert made.final.tool_calls[0].arguments is ended.tool_call.arguments


def test_arguments_beyond_a_limit_are_recorded_with_the_reason() -> None:
    made = builder()
    made.tool_call("c", "c1", "write")
    made.arguments("c", '{"a":' + "[" * 10_000 + "]" * 10_000 + "}")
    made.finish("toolUse")

    (note,) = made.diagnostics
    assert note["details"]["reason"] == "they are nested too deeply"


def test_the_number_of_parts_of_an_answer_is_limited() -> None:
    made = builder()
    for number in range(MAX_PARTS):
        made.tool_call(number, f"call_{number}", "ls")

    with pytest.raises(AnswerTooLarge, match="the limit of 10,000 parts"):
        made.text("one more", "a")
    made.tool_call(0, "call_0", "ls")

    assert len(made.message().content) == MAX_PARTS
