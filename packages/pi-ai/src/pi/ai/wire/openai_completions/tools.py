"""Tool declarations: functions, or free text constrained by a grammar. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import field

from pi.ai.messages import (
    Json,
    Tool,
)
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.wire.openai_completions.compat import Compat
from pi.ai.wire_support.text_calls import grammar_of, text_arguments
from pi.ai.wire_support.tool_schemas import OPENAI, strict_schemas
from pi.base.records import Record


class ToolForms(Record):
    """How the tools of one request are declared."""

    strict: Mapping[str, Json] = field(default_factory=dict)
    """The strict schemas by name: of all functions, or of none."""
    knows_strict: bool = False
    """Whether the server supports ``strict``."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Tools that take one free text, and the argument that it becomes."""


def tool_forms(tools: Sequence[Tool], compat: Compat, *, strict_refused: bool = False) -> ToolForms:
    """Return the forms that all ``tools`` of a request share."""
    inputs = text_inputs(tools, compat)
    supported = compat.supports_strict_mode
    functions = [tool for tool in tools if tool.name not in inputs]
    strict = strict_schemas(functions, OPENAI, supported=supported, refused=strict_refused)
    return ToolForms(strict=strict, knows_strict=supported, inputs=inputs)


def text_inputs(tools: Sequence[Tool], compat: Compat) -> Mapping[str, str]:
    """Return tools that are sent as text with a grammar, and their only argument."""
    return text_arguments(tools) if compat.supports_openai_grammar_tools else {}


def declaration(tool: Tool, forms: ToolForms) -> Json:
    """Return one element of ``tools``."""
    if tool.name in forms.inputs:
        return {
            "type": "custom",
            "custom": {
                "name": tool.name,
                "description": tool.description,
                "format": {"type": "grammar", "grammar": grammar_of(tool)},
            },
        }
    function: Json = {
        "name": tool.name,
        "description": tool.description,
        "parameters": forms.strict.get(tool.name, tool.parameters),
    }
    if forms.knows_strict:
        function["strict"] = tool.name in forms.strict
    return {"type": "function", "function": function}


def tool_choice(
    choice: ToolChoice | None, tools: Sequence[Tool], forms: ToolForms
) -> str | Json | None:
    """Return the value of ``tool_choice``; ``None`` leaves it out."""
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return word
        case {"type": "any"}:
            return "required"
        case {"name": name}:
            kind = "custom" if name in forms.inputs else "function"
            return {"type": kind, kind: {"name": name}}
        case _:
            return None
