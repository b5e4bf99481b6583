"""Encodes a call as the arguments of Google's SDK. Pure.

Payloads are passed to hooks and stored in this form; ``rest.py`` turns them into requests of the
REST API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pi.ai.errors import BadRequest
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import (
    ThinkingLevel,
    level_word,
    supported_levels,
    thinking_budget,
)
from pi.ai.request import Call, ToolChoice, valid_tool_choice
from pi.ai.transcript import fold
from pi.ai.wire_support.handoff import IMAGES_FOLLOW, is_own, plain_id, prepare
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs, without_refused_thoughts
from pi.ai.wire_support.tool_schemas import NO_STRICT_TOOLS, refuse_loosening
from pi.base.records import Record


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the payload: ``model``, ``contents`` and ``config``."""
    traits = compat_of(call.model)
    instructions, rest = fold(call.messages, keep_later=False)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    config: Json = {"maxOutputTokens": call.max_tokens}
    if call.options.temperature is not None:
        config["temperature"] = call.options.temperature
    if instructions.prompt:
        config["systemInstruction"] = instructions.prompt
    if instructions.tools:
        refuse_loosening(instructions.tools, NO_STRICT_TOOLS)
        config["tools"] = [{"functionDeclarations": _declarations(instructions.tools, traits)}]
        if (calling := _calling(call.options.tool_choice, instructions.tools)) is not None:
            config["toolConfig"] = {"functionCallingConfig": calling}
    if (thinking := thinking_config(call, traits)) is not None:
        config["thinkingConfig"] = thinking
    return {
        "model": call.model.id,
        "contents": contents(trusted, call.model, traits),
        "config": config,
    }


# Models -------------------------------------------------------------------------------------------


_FIRST_OF_THE_NEW = 3
"""Gemini 3 introduced call ids, pictures inside results, checked signatures and thinking levels."""


class Compat(Record):
    """How requests to one model differ from those to another."""

    call_ids: bool
    """Calls and their results carry ids."""
    images_in_results: bool
    """A tool result may contain pictures; else they follow in a message of their own."""
    checks_signatures: bool
    """A call of the current turn is rejected without a thought signature."""
    thinking_levels: bool
    """Thinking is set by level, not by a number of tokens."""
    thinking_budget: tuple[int, int]
    """Minimum and maximum of the thinking budget; a minimum of 0 means that it can be off."""
    json_schema: bool
    """Tools are declared with JSON Schema; else with Google's subset of OpenAPI."""


def compat_of(model: Model) -> Compat:
    """Return the capabilities of ``model``.

    The flag ``supportsParametersJsonSchema`` is false for servers that support only the older way
    to declare tools.
    """
    compat = model.compat if isinstance(model.compat, dict) else {}
    name = model.id.lower().rpartition("/")[2]
    generation = _gemini_generation(name)
    new = generation is not None and generation >= _FIRST_OF_THE_NEW
    return Compat(
        call_ids=new,
        images_in_results=new or (generation is None and not name.startswith("gemma")),
        checks_signatures=new,
        thinking_levels=new or _has_level_words(model),
        thinking_budget=_budget_limits(name),
        json_schema=compat.get("supportsParametersJsonSchema") is not False,
    )


def _gemini_generation(name: str) -> int | None:
    """Return the first number of a Gemini's name; an alias without one (``…-latest``) is a new
    model."""
    if not name.startswith("gemini-"):
        return None
    number = re.search(r"\d+", name)
    return int(number[0]) if number else _FIRST_OF_THE_NEW


def _has_level_words(model: Model) -> bool:
    return isinstance(model.thinking_level_map, dict) and any(model.thinking_level_map.values())


def _budget_limits(name: str) -> tuple[int, int]:
    """Return Google's documented limits for Gemini 2.5, whose Pro cannot stop thinking."""
    return (128, 32_768) if "pro" in name.split("-") else (0, 24_576)


def thinking_config(call: Call, traits: Compat) -> Json | None:
    """Return the ``thinkingConfig``; ``None`` for a model that does not think.

    A model that cannot stop thinking gets the minimum, and its thinking is not requested.
    """
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return None
    if level == "off":
        if traits.thinking_levels:
            return {"thinkingLevel": level_word(model, _least_level(model)).upper()}
        return {"thinkingBudget": traits.thinking_budget[0]}
    if traits.thinking_levels:
        return {"includeThoughts": True, "thinkingLevel": level_word(model, level).upper()}
    return {"includeThoughts": True, "thinkingBudget": _budget(call, traits)}


def _least_level(model: Model) -> ThinkingLevel:
    """Return the lowest level that ``model`` is known to have; all Geminis with levels have
    ``low``."""
    if not isinstance(model.thinking_level_map, dict):
        return "low"
    return next((level for level in supported_levels(model) if level != "off"), "low")


def _budget(call: Call, traits: Compat) -> int:
    options = call.options
    least, most = traits.thinking_budget
    requested = thinking_budget(options.reasoning, call.max_tokens, options.thinking_budgets)
    return min(max(requested, least), most)


# Messages -----------------------------------------------------------------------------------------


UNSIGNED = "skip_thought_signature_validator"
"""Google's documented placeholder for the signature of a call that a Gemini did not make itself."""


def contents(messages: Sequence[Message], model: Model, traits: Compat) -> list[Json]:
    """Return ``messages`` adapted to ``model``; results of one batch share a content."""

    def make_id(identifier: str, author: AssistantMessage) -> str:
        return identifier if is_own(author, model) else plain_id(identifier, author)

    history = prepare(messages, model, make_id)
    turn = _start_of_turn(history)
    encoded: list[Json] = []
    batch: list[ToolResultMessage] = []
    for index, message in enumerate(history):
        if isinstance(message, ToolResultMessage):
            batch.append(message)
            continue
        encoded += _results(batch, traits)
        batch = []
        if isinstance(message, AssistantMessage):
            sign = traits.checks_signatures and index > turn
            encoded += _content("model", _assistant_parts(message, traits, sign=sign))
        elif isinstance(message, UserMessage):
            encoded += _content("user", _user_parts(message))
    return encoded + _results(batch, traits)


def _start_of_turn(history: Sequence[Message]) -> int:
    """Return the index of the last user message: signatures are checked only after it."""
    users = [index for index, message in enumerate(history) if isinstance(message, UserMessage)]
    return users[-1] if users else -1


def _content(role: str, parts: list[Json]) -> list[Json]:
    """Return one content, or none: Google rejects an empty one."""
    return [{"role": role, "parts": parts}] if parts else []


def _user_parts(message: UserMessage) -> list[Json]:
    return [
        _image(block) if isinstance(block, Image) else {"text": block.text}
        for block in blocks(message.content)
        if isinstance(block, Image) or block.text
    ]


def _assistant_parts(message: AssistantMessage, traits: Compat, *, sign: bool) -> list[Json]:
    parts: list[Json] = []
    for block in message.content:
        match block:
            case Text() if block.text or block.text_signature:
                parts.append({"text": block.text, **_signature(block.text_signature)})
            case Thinking() if block.thinking or block.thinking_signature:
                signature = _signature(block.thinking_signature)
                parts.append({"thought": True, "text": block.thinking, **signature})
            case ToolCall():
                call: Json = {"name": block.name, "args": block.arguments}
                if traits.call_ids:
                    call["id"] = block.id
                signature = _signature(block.thought_signature or (UNSIGNED if sign else ""))
                parts.append({"functionCall": call, **signature})
                sign = False  # of parallel calls only the first one is signed
            case _:
                pass  # an empty part is rejected
    return parts


def _signature(signature: object) -> Json:
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _results(batch: Sequence[ToolResultMessage], traits: Compat) -> list[Json]:
    """Return the results of one batch, and after them the pictures that they cannot contain."""
    answers: list[Json] = []
    loose: list[Json] = []
    for result in batch:
        images = [_image(block) for block in result.content if isinstance(block, Image)]
        answer: Json = {
            "name": result.tool_name,
            "response": {"error" if result.is_error else "output": result.text},
        }
        if traits.call_ids:
            answer["id"] = result.tool_call_id
        if images and traits.images_in_results:
            answer["parts"] = images
        else:
            loose += images
        answers.append({"functionResponse": answer})
    note = [{"text": IMAGES_FOLLOW}] if loose else []
    return _content("user", answers) + _content("user", note + loose)


def _image(image: Image) -> Json:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


# Tools --------------------------------------------------------------------------------------------


MAX_INLINED = 500
"""Limit of references that are inlined per document: types that refer to each other multiply."""

_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords whose value holds schemas by name: their keys are not keywords."""
_SINGLE = frozenset({"items", "contains", "not", "if", "then", "else", "propertyNames"})
_SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_WORDS = frozenset({"type", "required"})
"""Keywords whose value is a string or a list of strings."""
_NOTES = frozenset({"definitions", "deprecated", "examples", "readOnly", "writeOnly"})
"""Annotations without effect; all that begin with ``$`` are dropped with them."""
_SUPPORTED = frozenset(
    {
        *("title", "description", "default", "format", "nullable"),
        *("minimum", "maximum", "minLength", "maxLength", "pattern"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    }
)
"""Keywords whose values are copied."""
_ABOUT_ALL = frozenset({"title", "description", "anyOf", "oneOf"})
"""Keywords that are not repeated where a schema of several types becomes one for each."""


def _declarations(tools: Sequence[Tool], traits: Compat) -> list[Json]:
    return [
        {"name": tool.name, "description": tool.description, **_parameters(tool, traits)}
        for tool in tools
    ]


def _parameters(tool: Tool, traits: Compat) -> Json:
    if traits.json_schema:
        return {"parametersJsonSchema": json_schema(tool.parameters)}
    parameters = openapi_schema(tool.parameters)
    return {"parameters": parameters} if parameters.get("properties") else {}


def _calling(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return {"mode": word.upper()}
        case {"type": "any"}:
            return {"mode": "ANY"}
        case {"name": name}:
            return {"mode": "ANY", "allowedFunctionNames": [name]}
        case _:
            return None


def json_schema(schema: Json) -> Json:
    """Return ``schema`` for ``parametersJsonSchema``, with its references inlined.

    The field takes JSON Schema, but servers fail on references, boolean schemas and enums of other
    values than strings and numbers, and one such tool fails the whole request. So every schema
    inside the result is an object, and every keyword has a value of the right type.
    """
    return _Inliner(schema).inlined(schema)


class _Inliner:
    """Inlines the references of one document."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._open: list[str] = []
        """The references being followed: a repeated one is a recursive type."""
        self._remaining = MAX_INLINED

    def inlined(self, schema: Json) -> Json:
        """Return ``schema`` as it is sent."""
        if isinstance(ref := schema.get("$ref"), str):
            return self._resolved(ref, {key: schema[key] for key in schema if key != "$ref"})
        inlined: Json = {}
        for key, value in schema.items():
            if key in ("enum", "const"):
                inlined.update(_enum([value] if key == "const" else value, schema))
            elif not key.startswith("$") and key not in _NOTES:
                keyword = self._keyword(key, value)
                if keyword is not None:
                    inlined[key] = keyword
        return inlined

    def _resolved(self, ref: str, siblings: Json) -> Json:
        """Return the target of ``ref``, overlaid by the keywords beside it; at the limit any
        object."""
        if ref in self._open or not self._remaining:
            return {"type": "object", **self.inlined(siblings)}
        self._remaining -= 1
        self._open.append(ref)
        inlined = self.inlined({**self._target(ref), **siblings})
        self._open.pop()
        return inlined

    def _target(self, ref: str) -> Json:
        """Return the schema at a local reference; an empty one if there is none."""
        value: Any = self._root if ref.startswith("#") else None
        for step in ref.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def _keyword(self, key: str, value: Any) -> Any:
        """Return a keyword's value with plain schemas inside it; ``None`` drops the keyword."""
        if key in _NAMED:
            named = value.items() if isinstance(value, dict) else ()
            inlined = {name: self._subschema(inner) for name, inner in named}
            return {name: inner for name, inner in inlined.items() if inner is not None}
        if key in _SEVERAL:
            several = map(self._subschema, value if isinstance(value, list) else ())
            return [inner for inner in several if inner is not None] or None
        if key in _SINGLE or (key == "additionalProperties" and isinstance(value, dict)):
            return self._subschema(value)
        if key in _WORDS and isinstance(value, list):
            return [word for word in value if isinstance(word, str)] or None
        if key in _WORDS:
            return value if isinstance(value, str) else None
        return value

    def _subschema(self, schema: Any) -> Json | None:
        """``true`` becomes a schema that allows anything, ``false`` none at all."""
        if isinstance(schema, dict):
            return self.inlined(schema)
        return {} if schema is True else None


def _enum(values: Any, schema: Json) -> Json:
    """Return the strings and numbers of an enum; without any, at least the type of its values."""
    values = values if isinstance(values, list) else []
    if supported := [value for value in values if _is_string_or_number(value)]:
        return {"enum": supported}
    if "type" not in schema and any(isinstance(value, bool) for value in values):
        return {"type": "boolean"}
    return {}


def _is_string_or_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def openapi_schema(schema: Json) -> Json:
    """Return ``schema`` for the older field ``parameters``.

    It takes a subset of OpenAPI 3.0 and fails the whole request over one unknown keyword, so only
    known ones are written.
    """
    return _reduced(json_schema(schema))


def _reduced(schema: Json) -> Json:
    schema = _merged(schema)
    kinds = _kinds(schema)
    arms = _arms(schema)
    choices = [arm for arm in arms if _kinds(arm) != ["null"]]
    reduced = {key: value for key, value in schema.items() if key in _SUPPORTED}
    if "null" in kinds or len(choices) < len(arms):
        reduced["nullable"] = True
    if len(choices) == 1:
        return {**_reduced(choices[0]), **reduced}
    if choices:
        return {**reduced, "anyOf": [_reduced(arm) for arm in choices]}
    kind = next((kind for kind in kinds if kind != "null"), "")
    return {**reduced, **_value(kind, schema)}


def _value(kind: str, schema: Json) -> Json:
    """Return the part of a schema that depends on its one type."""
    properties, enum = schema.get("properties"), schema.get("enum")
    if kind == "array":
        items = schema.get("items") or {"type": "string"}  # an array without items is rejected
        return {"type": "ARRAY", "items": _reduced(items)}
    if kind == "object" or (properties and not kind):
        return {"type": "OBJECT", **_properties(properties or {}, schema.get("required") or [])}
    if enum and all(isinstance(value, str) for value in enum):
        return {"type": "STRING", "enum": enum}
    return {"type": kind.upper()} if kind else {}


def _properties(properties: Json, required: list[str]) -> Json:
    reduced: Json = {}
    if properties:
        reduced["properties"] = {name: _reduced(schema) for name, schema in properties.items()}
    if present := [name for name in required if name in properties]:
        reduced["required"] = present
    return reduced


def _merged(schema: Json) -> Json:
    """Return ``schema`` with the schemas of ``allOf`` merged."""
    if "allOf" not in schema:
        return schema
    merged: Json = {}
    for part in (*schema["allOf"], {key: schema[key] for key in schema if key != "allOf"}):
        for key, value in _merged(part).items():
            before = merged.get(key)
            if key == "properties" and before:
                value = {**before, **value}
            elif key == "required" and before:
                value = [*before, *value]
            merged[key] = value
    return merged


def _kinds(schema: Json) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _arms(schema: Json) -> list[Json]:
    """Return the alternatives of a schema: the subset has neither oneOf nor several types."""
    arms: list[Json] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    kinds = _kinds(schema)
    if arms or len(kinds) < 2 or kinds == ["null"]:
        return arms
    alone = {key: value for key, value in schema.items() if key not in _ABOUT_ALL}
    return [{**alone, "type": kind} for kind in kinds]


# Repairs of rejected requests ---------------------------------------------------------------------


_SIGNATURE = r"(?i)(?:corrupted|invalid) thought.?signature|signature is not valid"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``, if its cause is in ``payload``."""
    if re.search(_SIGNATURE, refusal.message) and _has_signatures(payload):
        return Repairs(thinking=True)
    return None


def _has_signatures(payload: Json) -> bool:
    return any(
        part.get("thoughtSignature", UNSIGNED) != UNSIGNED
        for content in payload.get("contents", ())
        for part in content.get("parts", ())
    )
