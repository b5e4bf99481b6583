from __future__ import annotations

import msgspec
import pytest

from pi.ai.events import StreamEvent, TextDelta, ThinkingEnd, ToolCallEnd, ToolCallStart
from pi.ai.messages import ToolCall

WIRE = [
    (TextDelta(content_index=0, delta="x"), '{"type":"text_delta","contentIndex":0,"delta":"x"}'),
    (
        ThinkingEnd(content_index=1, content="hm"),
        '{"type":"thinking_end","contentIndex":1,"content":"hm"}',
    ),
    (
        ToolCallStart(content_index=2, id="c", tool_name="t"),
        '{"type":"toolcall_start","contentIndex":2,"id":"c","toolName":"t"}',
    ),
    (
        ToolCallEnd(content_index=2, tool_call=ToolCall(id="c", name="t", arguments={})),
        '{"type":"toolcall_end","contentIndex":2,'
        '"toolCall":{"type":"toolCall","id":"c","name":"t","arguments":{}}}',
    ),
]


@pytest.mark.parametrize(("event", "wire"), WIRE, ids=lambda value: type(value).__name__)
def test_events_are_encoded_in_the_format_of_json_mode(event: StreamEvent, wire: str) -> None:
    assert msgspec.json.encode(event).decode() == wire
    assert msgspec.json.decode(wire, type=StreamEvent) == event
