"""Tool declarations and the choice of a tool. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import (
    Json,
    Tool,
)
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.wire.google_generate.compat import Compat
from pi.ai.wire.google_generate.schemas import json_schema, openapi_schema


def declarations(tools: Sequence[Tool], traits: Compat) -> list[Json]:
    """Return the declarations of ``tools``."""
    return [
        {"name": tool.name, "description": tool.description, **_parameters(tool, traits)}
        for tool in tools
    ]


def _parameters(tool: Tool, traits: Compat) -> Json:
    if traits.json_schema:
        return {"parametersJsonSchema": json_schema(tool.parameters)}
    parameters = openapi_schema(tool.parameters)
    return {"parameters": parameters} if parameters.get("properties") else {}


def tool_config(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    """Return which tools may or must be called; ``None`` leaves it to the model."""
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return {"mode": word.upper()}
        case {"type": "any"}:
            return {"mode": "ANY"}
        case {"name": name}:
            return {"mode": "ANY", "allowedFunctionNames": [name]}
        case _:
            return None
