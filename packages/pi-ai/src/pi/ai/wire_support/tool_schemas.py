"""Strict schemas of tools. Pure.

With a strict schema the model can only write arguments that fit it. Servers accept such schemas in
a subset of JSON Schema, in which every object is closed, and never beside tools that are not
strict. A schema that the subset cannot express has no strict form: forbidding arguments that the
tool accepts is worse than allowing too many, because they are validated before the tool runs
anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Tool
from pi.base.records import Record

T = TypeVar("T")

NO_STRICT_TOOLS = "this model takes no strict tools"
STRICT_REFUSED = "the server has refused strict tools"

_REJECTED = frozenset({"allOf", "oneOf", "not", "if", "dependentSchemas", "patternProperties"})
_DESCRIBING = frozenset({"type", "enum", "const", "description", "title", "default", "format"})
_PARTS = frozenset({"properties", "anyOf", "items"})
_NAMED_PARTS = frozenset({"properties", "$defs", "definitions"})
"""Keywords whose value holds schemas by name."""


class Dialect(Record):
    """The subset of JSON Schema that a server accepts in strict schemas."""

    rejected: frozenset[str] = _REJECTED
    """Keywords that are rejected and cannot be left out without changing the meaning."""
    supported: frozenset[str] | None = None
    """The supported keywords; others are left out. ``None`` supports all."""
    optional_properties: bool = False


CLAUDE = Dialect(
    rejected=_REJECTED | {"$ref"}, supported=_DESCRIBING | _PARTS, optional_properties=True
)
"""For Anthropic and Bedrock: limits on lengths and ranges are left out."""
OPENAI = Dialect()
"""For both of OpenAI's wires."""


def strict_schemas(
    tools: Sequence[Tool], dialect: Dialect, *, supported: bool = True, refused: bool = False
) -> dict[str, Json]:
    """Return the strict schemas of ``tools`` by name: of all of them, or else none.

    None for a server that is not known to support them, or that has ``refused`` them. Raises
    ``BadRequest`` if a tool that requires strictness cannot be strict.
    """
    schemas: dict[str, Json] = {}
    if not supported or refused:
        refuse_loosening(tools, STRICT_REFUSED if refused else NO_STRICT_TOOLS)
        return {}
    for tool in tools:
        schema = strict_schema(tool.parameters, dialect) if _strictness(tool) else None
        if schema is None:
            refuse_loosening(tools, _loose_reason(tool))
            return {}
        schemas[tool.name] = schema
    return schemas


def refuse_loosening(tools: Iterable[Tool], obstacle: str) -> None:
    """Raise ``BadRequest`` with the ``obstacle`` if one of ``tools`` requires strictness."""
    for tool in tools:
        if _strictness(tool) == "require":
            raise BadRequest(
                f"The tool {tool.name} requires strict arguments, but {obstacle}.",
                hint="Choose a model with strict tools, and only tools that allow them.",
            )


def strict_schema(parameters: Json, dialect: Dialect) -> Json | None:
    """Return ``parameters`` with every object closed; ``None`` if that changes the meaning."""
    if parameters.get("type") != "object" or "anyOf" in parameters:
        return None
    try:
        return _strict(parameters, dialect)
    except (_NotStrict, RecursionError):
        return None


class _NotStrict(Exception):
    """A part of a schema has no strict form."""


def _strictness(tool: Tool) -> str:
    match tool.constrained_sampling:
        case {"type": "json_schema", "strict": "prefer" | "require" as strictness}:
            return str(strictness)
        case _:
            return ""


def _loose_reason(tool: Tool) -> str:
    if _strictness(tool):
        return f"the parameters of the tool {tool.name} have no strict form"
    return f"the tool {tool.name} beside it is not strict"


def _strict(schema: Any, dialect: Dialect) -> Json:
    if not isinstance(schema, dict) or schema.keys() & dialect.rejected:
        raise _NotStrict
    strict = {
        keyword: _strict_part(keyword, value, dialect)
        for keyword, value in schema.items()
        if dialect.supported is None or keyword in dialect.supported
    }
    if schema.get("type") == "object" or "properties" in schema:
        strict |= _closing(schema, dialect)
    return strict


def _strict_part(keyword: str, value: Any, dialect: Dialect) -> Any:
    if keyword in _NAMED_PARTS:
        return {name: _strict(part, dialect) for name, part in _checked(value, dict).items()}
    if keyword == "anyOf":
        return [_strict(part, dialect) for part in _checked(value, list)]
    return _strict(value, dialect) if keyword == "items" else value


def _closing(schema: Json, dialect: Dialect) -> Json:
    """The keywords that close an object."""
    properties = _checked(schema.get("properties"), dict)
    required = _checked(schema.get("required", []), list)
    if schema.get("type") != "object" or schema.get("additionalProperties", False) is not False:
        raise _NotStrict
    if dialect.optional_properties:
        return {"required": required, "additionalProperties": False}
    if len(required) != len(properties) or not all(name in required for name in properties):
        raise _NotStrict  # the model would have to send a value for an optional property
    return {"additionalProperties": False}


def _checked(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise _NotStrict
    return value
