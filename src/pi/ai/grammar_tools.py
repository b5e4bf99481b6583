"""Tools that a model calls with one text, held to a grammar, in place of arguments. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pi.ai.messages import Json, Tool

_SYNTAXES = (("openai_lark", "lark"), ("openai_regex", "regex"))
"""Our names for grammars, and the servers' names for their syntax; the first one there is taken."""


def grammar_of(tool: Tool) -> Json | None:
    """The ``syntax`` and the ``definition`` of a tool's grammar."""
    match tool.constrained_sampling:
        case {"type": "grammar", "variants": dict(variants)}:
            for ours, syntax in _SYNTAXES:
                if isinstance(definition := variants.get(ours), str) and definition:
                    return {"syntax": syntax, "definition": definition}
    return None


def text_arguments(tools: Iterable[Tool]) -> dict[str, str]:
    """By name, the tools that a text can call, and the argument that it becomes."""
    found = ((tool.name, _only_string(tool)) for tool in tools if grammar_of(tool))
    return {name: argument for name, argument in found if argument}


def _only_string(tool: Tool) -> str | None:
    """The argument of a tool that has just one, which is a string."""
    match tool.parameters.get("properties"):
        case dict(properties) if len(properties) == 1:
            name, schema = next(iter(properties.items()))
            return name if isinstance(schema, dict) and schema.get("type") == "string" else None
    return None
