"""Conversations with a model of this wire, for tests."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pi.ai.messages import Json, Tool, ToolCall
from tests.ai.wire.talking import Talk, result, system, user

__all__ = ["CACHE", "IN_PLACE", "PLAIN", "asks", "call", "model", "own", "result", "system"]
__all__ += ["tool", "user"]

CACHE = {"type": "ephemeral"}
IN_PLACE = {"supportsMidConvoSystemMessages": True, "supportsMidConvoToolChanges": True}
TALK = Talk("anthropic-messages")
PLAIN, model, call, own = TALK.plain, TALK.model, TALK.call, TALK.own


def asks(identifier: str = "c1", **arguments: Any) -> ToolCall:
    """A tool call of the model."""
    return ToolCall(id=identifier, name="peek", arguments=arguments)


def tool(name: str = "peek", sampling: Json | None = None, **parameters: Any) -> Tool:
    """A tool for the model."""
    return Tool(
        name=name,
        description=f"does {name}",
        parameters=parameters or {"type": "object", "properties": {}, "required": []},
        constrained_sampling=UNSET if sampling is None else sampling,
    )
