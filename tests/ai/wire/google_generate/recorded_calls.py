"""The calls behind the recorded requests, rebuilt from what the recordings say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.estimate import largest_answer
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking import clamp_level
from pi.ai.request import Access, Call, StreamOptions

GOLDEN = Path(__file__).parent.parent / "golden"
APIS = ("google-generative-ai", "google-vertex")

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9Q"
    "DwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PEEK = Tool(
    name="peek",
    description="look at it",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "where"}, "n": {"type": "number"}},
        "required": ["path"],
    },
)


def rows(file: str) -> list[Any]:
    """The recorded rows of this wire."""
    lines = (GOLDEN / file).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["api"] in APIS]


def payload_call(row: Any) -> Call:
    """The call that a row of ``payloads-by-provider`` answers, prepared as ``stream_simple`` does.

    ``off`` is not clamped: it is the absence of a level.
    """
    base = row["url"].partition("/models/")[0]
    if row["api"] == "google-vertex":
        base = "https://{location}-aiplatform.googleapis.com"
    facts = {**row["modelMeta"], "id": row["model"], "name": row["model"], "baseUrl": base}
    model = msgspec.convert(
        {**facts, "api": row["api"], "provider": row["provider"]}, Model, strict=False
    )
    messages = fixed_conversation(model)
    level = row["reasoning"]
    options = StreamOptions(
        reasoning="off" if level == "off" else clamp_level(model, level),
        max_tokens=largest_answer(model, messages),
        session_id="SESS",
    )
    access = Access(api_key="<KEY>", kind="api_key")
    return Call(model=model, messages=messages, options=options, access=access)


def fixed_conversation(model: Model) -> tuple[Message, ...]:
    """Five messages with everything in them, the answer written by ``model`` itself."""
    picture = (Image(data=PNG, mime_type="image/png"),) if model.sees_images else ()
    return (
        SystemMessage(content="SYS", tools_added=(PEEK,)),
        UserMessage(content=(Text(text="first"), *picture)),
        AssistantMessage(
            content=(
                Thinking(thinking="hm", thinking_signature="c2ln"),
                Text(text="calling"),
                ToolCall(id="call_1", name="peek", arguments={"path": "x"}),
            ),
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=Usage(input=1, output=1, total_tokens=2),
            stop_reason="toolUse",
        ),
        result("call_1", Text(text="RESULT")),
        UserMessage(content="next"),
    )


HISTORY_MODEL = Model(
    id="m",
    name="m",
    api="google-generative-ai",
    provider="p",
    base_url="https://example.test",
    input=("text", "image"),
)


def foreign(*content: Text | Thinking | ToolCall, **fields: Any) -> AssistantMessage:
    """An answer of some other model."""
    return AssistantMessage(content=content, api="other", provider="o", model="o", **fields)


def peek(identifier: str) -> ToolCall:
    """A call without arguments."""
    return ToolCall(id=identifier, name="peek", arguments={})


def result(identifier: str, *content: Text | Image, is_error: bool = False) -> ToolResultMessage:
    """What the tool came to."""
    return ToolResultMessage(
        tool_call_id=identifier, tool_name="peek", content=content, is_error=is_error
    )


A, B, C = (UserMessage(content=text) for text in "abc")

HISTORIES: dict[str, tuple[Message, ...]] = {
    "foreignThinking": (
        A,
        foreign(
            Thinking(thinking="foreign", thinking_signature="sig"),
            Text(text="t"),
            peek("call_AAA|fc_BBB"),
        ),
        result("call_AAA|fc_BBB", Text(text="R")),
        B,
    ),
    "orphanCall": (A, foreign(peek("c1"), peek("c2")), result("c1", Text(text="R")), B),
    "erroredAssistant": (
        A,
        foreign(Text(text="half"), stop_reason="error"),
        B,
        foreign(Text(text="half"), stop_reason="aborted"),
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
    "surrogate": (UserMessage(content="bad \ud800 end"),),
}
"""The awkward histories of ``history-transforms``, as their names and all recorded forms tell."""


def history_call(case: str) -> Call:
    """A call with one of the awkward histories."""
    leading = SystemMessage(content="S")
    return Call(model=HISTORY_MODEL, messages=(leading, *HISTORIES[case]))
