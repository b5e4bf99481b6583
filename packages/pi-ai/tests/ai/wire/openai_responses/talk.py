"""Conversations with a model of this wire, for tests."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pi.ai.json_text import json_text
from pi.ai.messages import Json, Thinking, Tool, ToolCall
from tests.ai.wire.talking import Talk, result, system, user

__all__ = ["CLOSED", "GRAMMAR", "IN_PLACE", "MODEL", "STRICT", "asks", "call", "model", "own"]
__all__ += ["result", "system", "thought", "tool", "user"]

IN_PLACE = {"supportsMidConvoSystemMessages": True, "supportsAdditionalTools": True}
GRAMMAR = {"type": "grammar", "variants": {"openai_lark": "start: /.+/"}}
STRICT = {"type": "json_schema", "strict": "prefer"}
CLOSED = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TALK = Talk("openai-responses", base_url="http://127.0.0.1:1/v1")
MODEL, model, call, own = TALK.plain, TALK.model, TALK.call, TALK.own


def thought(thinking: str = "hm", **item: Any) -> Thinking:
    """A thinking block with its reasoning item."""
    signature = {"type": "reasoning", "id": "rs_1", "summary": [], **item}
    return Thinking(thinking=thinking, thinking_signature=json_text(signature))


def asks(identifier: str = "call_1|fc_1", name: str = "peek", **arguments: Any) -> ToolCall:
    """A tool call of the model."""
    return ToolCall(id=identifier, name=name, arguments=arguments)


def tool(name: str = "peek", sampling: Json | None = None, **parameters: Any) -> Tool:
    """A tool for the model."""
    return Tool(
        name=name,
        description=f"does {name}",
        parameters=parameters or CLOSED,
        constrained_sampling=UNSET if sampling is None else sampling,
    )
