from __future__ import annotations

import pytest

from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
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
from pi.ai.messages import AssistantMessage, Text, Thinking, ToolCall
from tests.ai.wire.grammar import check_events

CALL = ToolCall(id="c", name="peek", arguments={"n": 1})
THOUGHT, TEXT = Thinking(thinking="hm"), Text(text="ab")
DONE = Done(reason="stop", message=AssistantMessage(content=(THOUGHT, TEXT, CALL)))
EMPTY = Done(reason="stop", message=AssistantMessage())
TEXT_ONLY = Done(reason="stop", message=AssistantMessage(content=(TEXT,)))
FAILED = Failed(reason="error", error=AssistantMessage(stop_reason="error"))
A, B = TextDelta(content_index=0, delta="a"), TextDelta(content_index=0, delta="b")
OPEN, CLOSE = TextStart(content_index=0), TextEnd(content_index=0, content="ab")


def test_a_complete_stream_returns_its_message() -> None:
    events: list[StreamEvent] = [
        Start(),
        ThinkingStart(content_index=0),
        ThinkingDelta(content_index=0, delta="hm"),
        TextStart(content_index=1),
        TextDelta(content_index=1, delta="a"),
        ThinkingEnd(content_index=0, content="hm"),
        ToolCallStart(content_index=2, id="c", tool_name="peek"),
        ToolCallDelta(content_index=2, delta='{"n":'),
        TextDelta(content_index=1, delta="b"),
        ToolCallDelta(content_index=2, delta="1}"),
        TextEnd(content_index=1, content="ab"),
        ToolCallEnd(content_index=2, tool_call=CALL),
        DONE,
    ]

    assert check_events(events) is DONE.message


@pytest.mark.parametrize("events", [[FAILED], [Start(), FAILED], [Start(), EMPTY]])
def test_a_stream_without_content_is_valid(events: list[StreamEvent]) -> None:
    check_events(events)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [EMPTY],
        [Start()],
        [Start(), Start(), EMPTY],
        [Start(), EMPTY, EMPTY],
        [Start(), FAILED, EMPTY],
        [OPEN, A, B, CLOSE, TEXT_ONLY],
        [Start(), A, B, CLOSE, TEXT_ONLY],
        [Start(), OPEN, A, B, TEXT_ONLY],
        [Start(), OPEN, A, CLOSE, B, TEXT_ONLY],
        [Start(), OPEN, A, CLOSE, TEXT_ONLY],
        [Start(), OPEN, A, B, CLOSE, CLOSE, TEXT_ONLY],
        [Start(), OPEN, A, B, CLOSE, EMPTY],
        [Start(), OPEN, OPEN, A, B, CLOSE, TEXT_ONLY],
        [Start(), TextStart(content_index=1), TEXT_ONLY],
        [Start(), OPEN, ThinkingDelta(content_index=0, delta="ab"), CLOSE, TEXT_ONLY],
        [Start(), OPEN, TextDelta(content_index=0, delta=""), A, B, CLOSE, TEXT_ONLY],
        [Start(), Done(reason="length", message=AssistantMessage())],
    ],
)
def test_a_stream_that_breaks_a_rule_is_refused(events: list[StreamEvent]) -> None:
    with pytest.raises(AssertionError):
        check_events(events)
