"""JSON Schema from Python types, function signatures and docstrings. Pure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict, get_args, get_origin

import msgspec
from msgspec import Meta

from pi.agent.tools.json_schema import BadSchema, inlined
from pi.agent.tools.tool import ToolContext
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.base.records import Record

# Not compiled at import: most sessions never need them.
_PARAMETER = r"""(?x)
    (?P<indent>\s*)
    (?: :param\s+(?:[^:]*\s)? | [-*]\s+ )?      # reST, with or without a type; a list
    [`*]* (?P<name>\w+) [`*]*
    \s* (?: \([^)]*\) )?                        # Google: the type in brackets
    : (?: \s+ | $ ) (?P<text>.*)
"""
_SECTION = r"[A-Z]\w+:$|:\w+"


def read_docstring(text: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph, and the text for each parameter in ``names``.

    Supports Google's ``Args:``, ``:param name:`` and plain lines ``name: text``; deeper indented
    lines continue the one before.
    """
    lines = text.strip().splitlines()
    return _summary(lines, names), _described_parameters(lines, names)


def _summary(lines: list[str], names: Collection[str]) -> str:
    first: list[str] = []
    for line in lines:
        if not line.strip() or re.match(_SECTION, line.strip()) or _parameter(line, names):
            break
        first.append(line.strip())
    return " ".join(first)


def _described_parameters(lines: list[str], names: Collection[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    current, indent = "", 0
    for line in lines:
        if (match := _parameter(line, names)) and match["name"] not in texts:
            current, indent = match["name"], len(match["indent"])
            texts[current] = match["text"].strip()
        elif current and line.strip() and len(line) - len(line.lstrip()) > indent:
            texts[current] = f"{texts[current]} {line.strip()}".lstrip()
        else:
            current = ""
    return texts


def _parameter(line: str, names: Collection[str]) -> re.Match[str] | None:
    match = re.match(_PARAMETER, line)
    return match if match and match["name"] in names else None


Decode: TypeAlias = Callable[[Json], Any]
"""Converts valid arguments to the type that the schema was made from."""

_NOISE = frozenset({"title", "discriminator"})
"""Class names, and references that no longer exist after inlining."""


class FunctionSchema(Record):
    """A function as a tool: its schema and how to call it."""

    description: str
    """The first paragraph of its docstring."""
    parameters: Json
    decode: Decode
    """Returns keyword arguments; omitted ones use the defaults of the function."""
    context: str
    """Name of the parameter that gets the ``ToolContext``, or empty."""


def schema_of(kind: Any) -> Json:
    """Return the JSON Schema of a record, a dataclass, a pydantic model or a type of msgspec."""
    try:
        if hasattr(kind, "model_json_schema"):
            document = kind.model_json_schema()
        else:
            document = msgspec.json.schema(kind)
    except (TypeError, ValueError, NameError, RuntimeError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise BadSchema(f"{name} cannot be described to a model: {error}") from error
    return inlined(_as_json(document), without=_NOISE)


def decoder_of(kind: Any) -> Decode:
    """Return a function that makes a ``kind`` from arguments, or raises ``ValueError``."""
    if hasattr(kind, "model_validate"):
        decode: Decode = kind.model_validate
        return decode
    return partial(msgspec.convert, type=kind, str_keys=True)


def schema_of_function(function: Callable[..., Any]) -> FunctionSchema:
    """Return the schema of a typed function, with descriptions from its docstring.

    A parameter annotated with ``ToolContext`` gets the context and is not shown to the model.
    """
    parameters = _parameters(function)
    context = next((parameter.name for parameter in parameters if _takes_context(parameter)), "")
    visible = [parameter for parameter in parameters if parameter.name != context]
    # TypedDict is called through an untyped name: type checkers require literal fields
    make_type: Any = TypedDict
    arguments = make_type(
        "Arguments", {parameter.name: _hint(parameter, function) for parameter in visible}
    )
    schema = schema_of(arguments)
    doc = inspect.getdoc(function) if inspect.isroutine(function) else None
    description, texts = read_docstring(doc or "", [parameter.name for parameter in visible])
    # msgspec sorts the fields of a TypedDict, but models follow the order of the schema
    schema["properties"] = {
        parameter.name: schema["properties"][parameter.name] for parameter in visible
    }
    for parameter in visible:
        part = schema["properties"][parameter.name]
        if text := _annotated_text(parameter.annotation) or texts.get(parameter.name):
            part["description"] = text
        if parameter.default is not parameter.empty:
            _show_default(part, parameter.default)
    return FunctionSchema(
        description=description,
        parameters=schema,
        decode=decoder_of(arguments),
        context=context,
    )


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function, eval_str=True).parameters.values())
    except (NameError, TypeError, ValueError, AttributeError, SyntaxError) as error:
        raise BadSchema(
            f"Cannot read the signature of {_name(function)}: {error}.",
            hint="Types in it must be importable where the function is defined.",
        ) from error


def _hint(parameter: inspect.Parameter, function: Callable[..., Any]) -> Any:
    name = f"The parameter {parameter.name} of {_name(function)}"
    if parameter.annotation is parameter.empty:
        raise BadSchema(f"{name} has no type.", hint="Annotate it, with Any if need be.")
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise BadSchema(f"{name} cannot be passed by name.", hint="Tools are called by name only.")
    if parameter.default is parameter.empty:
        return parameter.annotation
    hint = parameter.annotation
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if parameter.default is None and type(None) not in get_args(plain):
        hint = hint | None
    return NotRequired[hint]


def _name(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}()"


def _takes_context(parameter: inspect.Parameter) -> bool:
    kind = parameter.annotation
    return any(
        isinstance(hint, type) and issubclass(hint, ToolContext) for hint in (kind, *get_args(kind))
    )


def _annotated_text(annotation: Any) -> str:
    """Return the text of ``Annotated[int, Meta(description="how many")]`` or ``Annotated[int,
    "…"]``.
    """
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    texts = (extra.description if isinstance(extra, Meta) else extra for extra in extras)
    return next((text for text in texts if isinstance(text, str)), "")


def _show_default(part: Json, default: Any) -> None:
    try:
        part["default"] = _as_json(default)
    except (TypeError, ValueError):
        return  # not a JSON value; the function still applies it


def _as_json(value: Any) -> Any:
    """Return a copy of ``value`` with lists for tuples and values for enums."""
    return msgspec.json.decode(json_bytes(value))
