from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentSettled,
    AgentStart,
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOutput,
    TurnEnd,
    TurnStart,
)
from pi.agent.tools.tool import ToolResult
from pi.ai.events import TextDelta
from pi.ai.messages import AssistantMessage, Text, ToolResultMessage, Usage, UserMessage

ANSWER = AssistantMessage(content=(Text(text="ok"),), timestamp=7)
RESULT = ToolResultMessage(tool_call_id="A", tool_name="peek", content=(Text(text="seen"),))
HELLO = UserMessage(content="hello", timestamp=5)


def plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


CALL = {"toolCallId": "A", "toolName": "peek"}
FORMS: list[tuple[AgentEvent, dict[str, Any]]] = [
    (AgentStart(), {"type": "agent_start"}),
    (TurnStart(), {"type": "turn_start"}),
    (AgentSettled(), {"type": "agent_settled", "aborted": False}),
    (
        AgentEnd(messages=(HELLO, ANSWER)),
        {"type": "agent_end", "messages": [plain(HELLO), plain(ANSWER)], "willRetry": False},
    ),
    (
        TurnEnd(message=ANSWER, tool_results=(RESULT,)),
        {"type": "turn_end", "message": plain(ANSWER), "toolResults": [plain(RESULT)]},
    ),
    (MessageStart(message=HELLO), {"type": "message_start", "message": plain(HELLO)}),
    (MessageEnd(message=ANSWER), {"type": "message_end", "message": plain(ANSWER)}),
    (
        MessageUpdate(
            usage=Usage(input=3), assistant_message_event=TextDelta(content_index=0, delta="o")
        ),
        {
            "type": "message_update",
            "usage": plain(Usage(input=3)),
            "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "o"},
        },
    ),
    (
        ToolExecutionStart(tool_call_id="A", tool_name="peek", args={"path": "x"}),
        {"type": "tool_execution_start", **CALL, "args": {"path": "x"}},
    ),
    (
        ToolExecutionUpdate(
            tool_call_id="A",
            tool_name="peek",
            args={"path": "x"},
            partial_result=ToolOutput.of(ToolResult()),
        ),
        {
            "type": "tool_execution_update",
            **CALL,
            "args": {"path": "x"},
            "partialResult": {"content": []},
        },
    ),
    (
        ToolExecutionEnd(
            tool_call_id="A",
            tool_name="peek",
            result=ToolOutput.of(ToolResult.of("no", is_error=True, details={}, useless=True)),
            is_error=True,
        ),
        {
            "type": "tool_execution_end",
            **CALL,
            "result": {"content": [{"type": "text", "text": "no"}], "details": {}},
            "isError": True,
        },
    ),
    (
        QueueUpdate(steering=("a",), follow_up=("b",)),
        {"type": "queue_update", "steering": ["a"], "followUp": ["b"]},
    ),
    (
        EntryAppended(entry={"type": "custom", "data": 1}),
        {"type": "entry_appended", "entry": {"type": "custom", "data": 1}},
    ),
]


@pytest.mark.parametrize(("event", "form"), FORMS, ids=lambda value: type(value).__name__)
def test_an_event_has_the_json_form_of_the_protocol(
    event: AgentEvent, form: dict[str, Any]
) -> None:
    assert plain(event) == form


def test_a_result_is_emitted_with_its_set_fields_only() -> None:
    full = ToolResult.of("bye", details={"n": 1}, usage=Usage(input=3), terminate=True)

    assert plain(ToolOutput.of(full)) == {
        "content": [{"type": "text", "text": "bye"}],
        "details": {"n": 1},
        "usage": plain(Usage(input=3)),
        "terminate": True,
    }
