"""Tools as Converse's ``toolConfig``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pi.ai.messages import AssistantMessage, Json, Message, Tool
from pi.ai.object_schema import object_schema
from pi.ai.request import ToolChoice, possible_choice
from pi.ai.strict_schemas import CLAUDE, refuse_loosening, strict_schemas
from pi.ai.wire.bedrock_converse.traits import Traits


def tool_config(
    tools: Sequence[Tool], history: Iterable[Message], choice: ToolChoice | None, traits: Traits
) -> Json | None:
    """The ``toolConfig`` of a request, or ``None`` where it needs none.

    A conversation that holds calls is refused without one, so tools that were called and are gone
    are declared in name. There is no word for calling none: the tools are left out where they can
    be.
    """
    called = dict.fromkeys(
        call.name
        for message in history
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )
    if choice == "none" and not called:
        return None
    declared = _declarations(tools, traits) or [_declaration(name, "", {}) for name in called]
    if not declared:
        return None
    chosen = tool_choice(choice, tools)
    return {"tools": declared, "toolChoice": chosen} if chosen else {"tools": declared}


def tool_choice(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    """The wire's form of ``choice``, which has no word for calling none."""
    match possible_choice(choice, [tool.name for tool in tools]):
        case "auto":
            return {"auto": {}}
        case {"type": "any"}:
            return {"any": {}}
        case {"name": name}:
            return {"tool": {"name": name}}
        case _:
            return None


def without_strict(payload: Json) -> Json | None:
    """``payload`` with tools that are not strict; ``None`` where there are none that are."""
    config = payload.get("toolConfig") or {}
    tools = config.get("tools", [])
    loose = [_loosened(tool) for tool in tools]
    return None if loose == tools else {**payload, "toolConfig": {**config, "tools": loose}}


def _loosened(tool: Json) -> Json:
    spec = tool.get("toolSpec", {})
    if not spec.get("strict"):
        return tool
    return {"toolSpec": {key: value for key, value in spec.items() if key != "strict"}}


def _declarations(tools: Sequence[Tool], traits: Traits) -> list[Json]:
    strict = strict_schemas(tools, CLAUDE) if traits.strict_tools else {}
    if not strict:
        refuse_loosening(tools)
    return [
        _declaration(
            tool.name,
            tool.description,
            strict.get(tool.name, tool.parameters),
            strict=bool(strict),
        )
        for tool in tools
    ]


def _declaration(name: str, description: str, schema: Json, *, strict: bool = False) -> Json:
    spec: Json = {"name": name}
    if description.strip():  # a blank one is refused
        spec["description"] = description
    spec["inputSchema"] = {"json": object_schema(schema)}
    if strict:
        spec["strict"] = True
    return {"toolSpec": spec}
