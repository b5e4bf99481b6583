"""The conversation behind the recorded payloads of every provider, and the calls made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.estimate import largest_answer
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
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
from pi.base.records import UnsetType

GOLDEN = Path(__file__).parent / "golden" / "payloads-by-provider.jsonl"
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


def recorded_payloads(api: str) -> list[Any]:
    """The recorded rows of ``api``."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["api"] == api]


def recorded_call(row: Json, base_url: str, *, signature: str | UnsetType = "c2ln") -> Call:
    """The call that ``row`` records, prepared as ``stream_simple`` does; "off" is never raised.

    ``signature`` is that of the thought in it, where the wire has such.
    """
    model = msgspec.convert(
        {
            **row["modelMeta"],
            "id": row["model"],
            "name": row["model"],
            "api": row["api"],
            "provider": row["provider"],
            "baseUrl": base_url,
        },
        Model,
    )
    messages = fixed_conversation(model, signature)
    level = row["reasoning"]
    options = StreamOptions(
        reasoning="off" if level == "off" else clamp_level(model, level),
        max_tokens=largest_answer(model, messages),
        session_id="SESS",
    )
    access = Access(api_key="<KEY>", kind="api_key")
    return Call(model=model, messages=messages, options=options, access=access)


def fixed_conversation(model: Model, signature: str | UnsetType) -> tuple[Message, ...]:
    """Five messages with everything in them, the answer written by ``model`` itself."""
    picture = (Image(data=PNG, mime_type="image/png"),) if model.sees_images else ()
    return (
        SystemMessage(content="SYS", tools_added=(PEEK,)),
        UserMessage(content=(Text(text="first"), *picture)),
        AssistantMessage(
            content=(
                Thinking(thinking="hm", thinking_signature=signature),
                Text(text="calling"),
                ToolCall(id="call_1", name="peek", arguments={"path": "x"}),
            ),
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=Usage(input=1, output=1, total_tokens=2),
            stop_reason="toolUse",
        ),
        ToolResultMessage(tool_call_id="call_1", tool_name="peek", content=(Text(text="RESULT"),)),
        UserMessage(content="next"),
    )
