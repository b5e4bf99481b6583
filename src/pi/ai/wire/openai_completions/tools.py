"""Tools as the request declares them: functions, or free text held to a grammar. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi.ai.grammar_tools import grammar_of, text_arguments
from pi.ai.messages import Json, Tool
from pi.ai.request import ToolChoice, possible_choice
from pi.ai.strict_schemas import OPENAI, strict_schemas
from pi.ai.wire.openai_completions.compat import Compat
from pi.base.records import Record


class ToolForms(Record):
    """How the tools of one request are declared."""

    strict: bool | None
    """The value of ``strict``; ``None`` where the server does not know the word."""
    inputs: Mapping[str, str]
    """Tools that take one free text, and the argument that it becomes."""


def tool_forms(tools: Sequence[Tool], compat: Compat) -> ToolForms:
    """The forms that all ``tools`` of a request share.

    Servers refuse strict tools beside others: either every function is strict or none is. A tool
    that requires it is still sent: its arguments are checked here in any case.
    """
    inputs = text_arguments(tools) if compat.supports_openai_grammar_tools else {}
    functions = [tool for tool in tools if tool.name not in inputs]
    schemas = strict_schemas(functions, OPENAI)
    strict = bool(schemas) and all(schemas[tool.name] == tool.parameters for tool in functions)
    return ToolForms(strict=strict if compat.supports_strict_mode else None, inputs=inputs)


def declaration(tool: Tool, forms: ToolForms) -> Json:
    """One element of ``tools``."""
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
        "parameters": tool.parameters,
    }
    if forms.strict is not None:
        function["strict"] = forms.strict
    return {"type": "function", "function": function}


def tool_choice(
    choice: ToolChoice | None, tools: Sequence[Tool], forms: ToolForms
) -> str | Json | None:
    """The value of ``tool_choice``; ``None`` leaves it out."""
    match possible_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return word
        case {"name": name}:
            kind = "custom" if name in forms.inputs else "function"
            return {"type": kind, kind: {"name": name}}
        case _:
            return None


def without_strict(payload: Json) -> Json | None:
    """``payload`` with loose schemas, or ``None`` where it has no strict ones."""
    tools = payload.get("tools")
    if not isinstance(tools, list) or not any(_is_strict(tool) for tool in tools):
        return None
    loose = [
        {**tool, "function": {**tool["function"], "strict": False}} if _is_strict(tool) else tool
        for tool in tools
    ]
    return {**payload, "tools": loose}


def _is_strict(tool: object) -> bool:
    match tool:
        case {"function": {"strict": True}}:
            return True
        case _:
            return False
