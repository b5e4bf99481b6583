"""The awkward histories of ``history-transforms``, by their names and recorded forms."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

A, B, C = (UserMessage(content=text) for text in "abc")


def foreign(*blocks: Text | Thinking | ToolCall, **fields: Any) -> AssistantMessage:
    """An answer of another model."""
    return AssistantMessage(content=blocks, api="other", provider="other", model="o", **fields)


def peek(identifier: str) -> ToolCall:
    """A call without arguments."""
    return ToolCall(id=identifier, name="peek", arguments={})


def result(identifier: str, *content: Text | Image, is_error: bool = False) -> ToolResultMessage:
    """The result of the call."""
    return ToolResultMessage(
        tool_call_id=identifier, tool_name="peek", content=content, is_error=is_error
    )


HISTORIES: dict[str, tuple[Message, ...]] = {
    "foreignThinking": (
        A,
        foreign(
            Thinking(thinking="foreign", thinking_signature="{}"),
            Text(text="t", text_signature="msg_1"),
            peek("call_AAA|fc_BBB"),
        ),
        result("call_AAA|fc_BBB", Text(text="R")),
        B,
    ),
    "orphanCall": (A, foreign(peek("c1"), peek("c2")), result("c1", Text(text="R")), B),
    "erroredAssistant": (
        A,
        AssistantMessage(content=(Text(text="x"),), stop_reason="error", error_message="boom"),
        B,
        AssistantMessage(content=(Text(text="y"),), stop_reason="aborted"),
        C,
    ),
    "imageResult": (
        A,
        foreign(peek("c1")),
        result("c1", Text(text="see"), Image(data="<png>", mime_type="image/png")),
    ),
    "emptyResult": (A, foreign(peek("c1")), result("c1")),
    "redacted": (
        A,
        foreign(Thinking(thinking="", thinking_signature="x", redacted=True), Text(text="t")),
        B,
    ),
    "midSystem": (A, foreign(Text(text="t")), SystemMessage(content="later rule"), B),
    "surrogate": (UserMessage(content="bad \ud83d end"),),
}


def awkward_history(case: str) -> tuple[Message, ...]:
    """One of them behind the prompt that all were recorded with."""
    return (SystemMessage(content="S"), *HISTORIES[case])
