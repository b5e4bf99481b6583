"""The conversation behind the recorded payloads of every provider, and the calls made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UnsetType

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
from pi.ai.models.thinking_levels import ThinkingLevel, clamp_level
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.token_estimates import largest_answer

KEY = Access(api_key="<KEY>", kind="api_key")
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


def recorded_call(
    row: Json,
    base_url: str,
    *,
    access: Access = KEY,
    signature: str | UnsetType = "c2ln",
    call_id: str = "call_1",
) -> Call:
    """The call that ``row`` records.

    ``signature`` is that of its thinking block, on wires with signatures.
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
    messages = fixed_conversation(model, signature, call_id)
    return ready(model, messages, access=access, reasoning=row["reasoning"], session_id="SESS")


def ready(
    model: Model,
    messages: tuple[Message, ...],
    *,
    access: Access = KEY,
    reasoning: ThinkingLevel = "off",
    session_id: str | None = None,
) -> Call:
    """A call as ``stream_simple`` prepares it; "off" is never raised to a level."""
    return Call(
        model=model,
        messages=messages,
        options=StreamOptions(
            reasoning="off" if reasoning == "off" else clamp_level(model, reasoning),
            max_tokens=largest_answer(model, messages),
            session_id=session_id,
        ),
        access=access,
    )


def fixed_conversation(
    model: Model, signature: str | UnsetType, call_id: str = "call_1"
) -> tuple[Message, ...]:
    """Five messages with all kinds of content; the answer is by ``model`` itself."""
    picture = (Image(data=PNG, mime_type="image/png"),) if model.sees_images else ()
    return (
        SystemMessage(content="SYS", tools_added=(PEEK,)),
        UserMessage(content=(Text(text="first"), *picture)),
        AssistantMessage(
            content=(
                Thinking(thinking="hm", thinking_signature=signature),
                Text(text="calling"),
                ToolCall(id=call_id, name="peek", arguments={"path": "x"}),
            ),
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=Usage(input=1, output=1, total_tokens=2),
            stop_reason="toolUse",
        ),
        ToolResultMessage(tool_call_id=call_id, tool_name="peek", content=(Text(text="RESULT"),)),
        UserMessage(content="next"),
    )
