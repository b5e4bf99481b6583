"""Tools that are called with one text, constrained by a grammar, instead of arguments. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pi.ai.messages import Json, Tool

_SYNTAXES = (("openai_lark", "lark"), ("openai_regex", "regex"))
"""Our names for grammars, and the servers' names for their syntax; the first match is used."""


def grammar_of(tool: Tool) -> Json | None:
    """Return the ``syntax`` and the ``definition`` of a tool's grammar."""
    match tool.constrained_sampling:
        case {"type": "grammar", "variants": dict(variants)}:
            for name, syntax in _SYNTAXES:
                if isinstance(definition := variants.get(name), str) and definition:
                    return {"syntax": syntax, "definition": definition}
    return None


def text_arguments(tools: Iterable[Tool]) -> dict[str, str]:
    """Return, by tool name, the argument that the text of a text call becomes."""
    pairs = ((tool.name, _only_string(tool)) for tool in tools if grammar_of(tool))
    return {name: argument for name, argument in pairs if argument}


def _only_string(tool: Tool) -> str | None:
    """Return the argument of a tool that has exactly one, a string."""
    match tool.parameters.get("properties"):
        case dict(properties) if len(properties) == 1:
            name, schema = next(iter(properties.items()))
            return name if isinstance(schema, dict) and schema.get("type") == "string" else None
    return None
