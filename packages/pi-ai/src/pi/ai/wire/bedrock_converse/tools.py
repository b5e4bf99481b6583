"""Tool declarations (``toolConfig``) and the choice of a tool. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pi.ai.messages import (
    AssistantMessage,
    Json,
    Message,
    Tool,
)
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.wire.bedrock_converse.compat import ModelCompat
from pi.ai.wire_support.object_schemas import object_schema
from pi.ai.wire_support.tool_schemas import CLAUDE, strict_schemas


def tool_config(
    tools: Sequence[Tool],
    history: Iterable[Message],
    choice: ToolChoice | None,
    traits: ModelCompat,
    *,
    strict_refused: bool = False,
) -> Json | None:
    """Return the ``toolConfig`` of a request, or ``None`` if it needs none.

    A conversation with calls is rejected without one, so removed tools that were called are
    declared by name. Converse cannot forbid calls: the tools are left out where possible.
    """
    called = dict.fromkeys(
        call.name
        for message in history
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )
    if choice == "none" and not called:
        return None
    strict = strict_schemas(tools, CLAUDE, supported=traits.strict_tools, refused=strict_refused)
    declared = [_declare(tool, strict.get(tool.name)) for tool in tools]
    declared = declared or [_declaration(name, "", {}) for name in called]
    if not declared:
        return None
    chosen = tool_choice(choice, tools)
    return {"tools": declared, "toolChoice": chosen} if chosen else {"tools": declared}


def tool_choice(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    """Return the wire's form of ``choice``; Converse has no ``none``."""
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case "auto":
            return {"auto": {}}
        case {"type": "any"}:
            return {"any": {}}
        case {"name": name}:
            return {"tool": {"name": name}}
        case _:
            return None


def _declare(tool: Tool, strict: Json | None) -> Json:
    declared = _declaration(tool.name, tool.description, strict or tool.parameters)
    if strict:
        declared["toolSpec"]["strict"] = True
    return declared


def _declaration(name: str, description: str, schema: Json) -> Json:
    spec: Json = {"name": name}
    if description.strip():  # a blank one is rejected
        spec["description"] = description
    spec["inputSchema"] = {"json": object_schema(schema)}
    return {"toolSpec": spec}
