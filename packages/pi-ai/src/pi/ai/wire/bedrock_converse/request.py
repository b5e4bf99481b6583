"""Encodes a call as arguments of AWS's ``converse_stream`` and as an HTTP request. Pure.

Bytes stay bytes in ``messages``, as in the arguments of AWS's SDK; JSON has them as base64.

Converse has one format for all models, but thinking, its replay and caching differ by vendor. The
capabilities of a model come from its name and compat flags. The id of an inference profile may be
an ARN that names no model; then the model's own name is used.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Literal
from urllib.parse import quote

from pi.ai.errors import BadRequest
from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
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
from pi.ai.models.thinking_levels import ROOM_TO_ANSWER, level_word, thinking_budget
from pi.ai.request import Call, ToolChoice, read_flags, valid_tool_choice
from pi.ai.transcript import fold
from pi.ai.wire.bedrock_converse.signing import DEFAULT_REGION, AwsIdentity, scope_at, sign
from pi.ai.wire_support.handoff import NO_OUTPUT, plain_id, prepare
from pi.ai.wire_support.object_schemas import object_schema
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    lacks_thinking,
    refuses_strict,
    without_refused_thoughts,
)
from pi.ai.wire_support.tool_schemas import CLAUDE, strict_schemas
from pi.base.records import Record

_CLAUDE = r"claude(?:-[a-z]+)*?-(\d{1,2})(?:-(\d{1,2}))?(?!\d)"
_NEWEST = (99, 0)


class Compat(Record):
    """The flags of this wire."""

    supports_strict_mode: bool = False


class ModelCompat(Record):
    """Capabilities of one model, which change its requests."""

    strict_tools: bool = False
    cache: Literal["none", "short", "long"] = "none"
    """The longest lifetime of a cache point."""
    thinking: Literal["none", "effort", "budget", "nova", "openai", "gpt-oss"] = "none"
    """The vendor's format of thinking settings."""
    interleaved: bool = False
    """Thinking between tool calls must be requested."""
    thoughts: Literal["signed", "any", "never"] = "any"
    """The earlier thinking that may be sent back as thinking."""
    temperature: bool = True


def compat_of(model: Model) -> ModelCompat:
    """Return the capabilities of ``model``; raises ``BadRequest`` if its flags are invalid."""
    strict = read_flags(model, Compat).supports_strict_mode
    name = "-".join(re.findall(r"[a-z0-9]+", f"{model.id} {model.name}".lower()))
    if "claude" in name:
        return _claude(name, strict=strict)
    if "nova" in name:
        thinking: Literal["nova", "none"] = "nova" if "nova-2" in name else "none"
        return ModelCompat(strict_tools=strict, cache="short", thinking=thinking)
    if "gpt-oss" in name:
        return ModelCompat(strict_tools=strict, thinking="gpt-oss")
    if "openai" in name:
        return ModelCompat(strict_tools=strict, thinking="openai")
    return ModelCompat(strict_tools=strict, thoughts="never" if "deepseek" in name else "any")


def _claude(name: str, *, strict: bool) -> ModelCompat:
    match = re.search(_CLAUDE, name)
    version = (int(match[1]), int(match[2] or 0)) if match else _NEWEST
    return ModelCompat(
        strict_tools=strict,
        cache="long" if version >= (4, 5) else "short" if version >= (3, 5) else "none",
        thinking="effort" if version >= (4, 6) else "budget" if version >= (3, 7) else "none",
        interleaved=(4, 0) <= version < (4, 6),
        thoughts="signed",
        temperature=version < (4, 7),
    )


# Thinking settings in the format of each vendor ---------------------------------------------------


SMALLEST_BUDGET = 1024
"""Claude rejects smaller budgets."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta that lets older Claudes think between tool calls."""


def thinking_fields(call: Call, traits: ModelCompat, *, cap: int, forced: bool) -> Json:
    """Return the thinking part of ``additionalModelRequestFields``; empty if it is off.

    ``cap`` is the output limit, including thinking. Claude does not think before a ``forced`` tool
    call.
    """
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return {}
    if level == "off":
        word = (model.thinking_level_map or {}).get("off")
        return {"reasoning": {"effort": word}} if word and traits.thinking == "openai" else {}
    if traits.thinking == "budget":
        return {} if forced else _budget(call, traits, cap)
    effort = level_word(model, level)
    return _effort(traits, "low" if effort == "minimal" else effort, forced=forced)


def thinks_without_limits(fields: Json) -> bool:
    """Whether output cap and temperature must be left out: Nova at its highest level."""
    return bool(fields.get("reasoningConfig", {}).get("maxReasoningEffort") == "high")


def _effort(traits: ModelCompat, effort: str, *, forced: bool) -> Json:
    match traits.thinking:
        case "effort" if not forced:
            return {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": effort},
            }
        case "nova":
            return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
        case "openai":
            return {"reasoning": {"effort": effort}}
        case "gpt-oss":
            return {"reasoning_effort": effort}
        case _:
            return {}


def _budget(call: Call, traits: ModelCompat, cap: int) -> Json:
    if cap < SMALLEST_BUDGET + ROOM_TO_ANSWER:
        return {}
    requested = thinking_budget(call.options.reasoning, cap, call.options.thinking_budgets)
    budget = max(requested, SMALLEST_BUDGET)
    fields: Json = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if traits.interleaved:
        fields["anthropic_beta"] = [INTERLEAVED]
    return fields


NO_TEXT = "(no text)"
"""Replaces an empty user message: blank text is rejected."""
UNKNOWN_IMAGE = "(image omitted: Bedrock takes PNG, JPEG, GIF and WebP)"

_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def history_for(messages: Sequence[Message], model: Model) -> tuple[Message, ...]:
    """Return ``messages`` adapted to ``model``."""
    return prepare(messages, model, plain_id)


def encode_messages(history: Iterable[Message], traits: ModelCompat) -> list[Json]:
    """Return the ``messages`` of a request; the results of one batch of calls share a message."""
    encoded: list[Json] = []
    results: list[Json] = []
    for message in history:
        if isinstance(message, ToolResultMessage):
            results.append(_tool_result(message))
            continue
        encoded += _message("user", results)
        results = []
        if isinstance(message, AssistantMessage):
            content = [
                block for part in message.content for block in _assistant_blocks(part, traits)
            ]
            encoded += _message("assistant", content)
        elif isinstance(message, UserMessage):
            encoded += _message("user", _contents(blocks(message.content), NO_TEXT))
    return encoded + _message("user", results)


def _message(role: str, content: list[Json]) -> list[Json]:
    """Return one message, or none: an empty one is rejected."""
    return [{"role": role, "content": content}] if content else []


def _assistant_blocks(block: Text | Thinking | ToolCall, traits: ModelCompat) -> list[Json]:
    match block:
        case Text():
            return _text(block.text)
        case Thinking():
            return _thought(block, traits)
        case ToolCall():
            call = {"toolUseId": block.id, "name": block.name, "input": block.arguments}
            return [{"toolUse": call}]


def _thought(block: Thinking, traits: ModelCompat) -> list[Json]:
    signature = block.thinking_signature or ""
    if traits.thoughts == "never":
        return []
    if block.redacted is True:
        secret = _decoded(signature)
        return [{"reasoningContent": {"redactedContent": secret}}] if secret else []
    if signature:
        signed = {"text": block.thinking, "signature": signature}
        return [{"reasoningContent": {"reasoningText": signed}}]
    if traits.thoughts == "signed" or not block.thinking.strip():
        return _text(block.thinking)
    return [{"reasoningContent": {"reasoningText": {"text": block.thinking}}}]


def _tool_result(message: ToolResultMessage) -> Json:
    return {
        "toolResult": {
            "toolUseId": message.tool_call_id,
            "content": _contents(message.content, NO_OUTPUT),
            "status": "error" if message.is_error else "success",
        }
    }


def _contents(parts: Iterable[Text | Image], otherwise: str) -> list[Json]:
    content: list[Json] = []
    for part in parts:
        content += _image(part) if isinstance(part, Image) else _text(part.text)
    return content or _text(otherwise)


def _text(text: str) -> list[Json]:
    return [{"text": text}] if text.strip() else []


def _image(image: Image) -> list[Json]:
    kind, data = _FORMATS.get(image.mime_type.lower()), _decoded(image.data)
    if kind is None or not data:
        return _text(UNKNOWN_IMAGE)
    return [{"image": {"source": {"bytes": data}, "format": kind}}]


def _decoded(base64: str) -> bytes:
    """Return the bytes of ``base64``, or none if it is invalid."""
    try:
        return binascii.a2b_base64(base64)
    except (binascii.Error, ValueError):
        return b""


# Tools (``toolConfig``) ---------------------------------------------------------------------------


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


DEFAULT_CAP = 4096
"""The output limit if neither the caller nor the model names one; without any cap Bedrock reserves
the model's whole output from the account's quota."""

MAX_LABELS = 16
_LABEL = r"(?a)[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}"


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the payload; images and redacted thinking are bytes."""
    traits = compat_of(call.model)
    instructions, rest = fold(call.messages, keep_later=False)
    history = history_for(without_refused_thoughts(rest, call.model, repairs), call.model)
    messages = encode_messages(history, traits)
    system: list[Json] = [{"text": instructions.prompt}] if instructions.prompt.strip() else []
    if (point := _cache_point(call, traits)) is not None:
        if system:
            system.append(point)
        if messages and messages[-1]["role"] == "user":
            messages[-1]["content"].append(point)
    cap = call.max_tokens or DEFAULT_CAP
    choice = tool_choice(call.options.tool_choice, instructions.tools)
    # A model with a thinking budget requires the thinking before its last calls.
    lost = traits.thinking == "budget" and lacks_thinking(rest, call.model, repairs)
    fields = thinking_fields(call, traits, cap=cap, forced=_is_forced(choice) or lost)
    parts: Json = {
        "modelId": call.model.id,
        "messages": messages,
        "system": system,
        "inferenceConfig": _inference(call, traits, cap, fields),
        "toolConfig": tool_config(
            instructions.tools,
            history,
            call.options.tool_choice,
            traits,
            strict_refused=refuses_strict(rest, call.model, repairs),
        ),
        "additionalModelRequestFields": fields,
        "requestMetadata": _labels(call),
    }
    return {name: part for name, part in parts.items() if part}


def _cache_point(call: Call, traits: ModelCompat) -> Json | None:
    """Return the cache point of the prompt, with the requested and supported lifetime."""
    if traits.cache == "none" or call.options.cache_retention == "none":
        return None
    if call.options.cache_retention == "long" and traits.cache == "long":
        return {"cachePoint": {"type": "default", "ttl": "1h"}}
    return {"cachePoint": {"type": "default"}}


def _is_forced(choice: Json | None) -> bool:
    return choice is not None and "auto" not in choice


def _labels(call: Call) -> dict[str, str]:
    """Return the caller's metadata, as far as the logs accept it."""
    pairs = (call.options.metadata or {}).items()
    fitting = [(name, text) for name, text in pairs if _is_label(name) and _is_label(text)]
    return dict(fitting[:MAX_LABELS])


def _is_label(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(_LABEL, text) is not None


def _inference(call: Call, traits: ModelCompat, cap: int, thinking: Json) -> Json:
    if thinks_without_limits(thinking):
        return {}
    config: Json = {"maxTokens": cap}
    # Claude takes no temperature while it thinks, and its newest models take none at all.
    free = traits.temperature and "thinking" not in thinking
    if call.options.temperature is not None and free:
        config["temperature"] = call.options.temperature
    return config


# HTTP request, as AWS's SDK makes it --------------------------------------------------------------


SERVICE = "bedrock"

_ARN_REGION = r"arn:aws[a-z-]*:bedrock:([a-z0-9-]+):"
_REGION = r"(?<![a-z0-9-])[a-z]{2}(?:-[a-z]+)+-\d(?![a-z0-9-])"
_AWS_HOST = r"(https://bedrock-runtime(?:-fips)?)\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?"


class RestRequest(Record):
    """A request that is ready to be sent."""

    url: str
    headers: dict[str, str]
    body: bytes


def rest_request(call: Call, payload: Json, identity: AwsIdentity, now_ms: int) -> RestRequest:
    """Return the request for ``payload``, signed now unless there is a bearer token."""
    model_id = payload.get("modelId") or call.model.id
    body = json_bytes({name: part for name, part in payload.items() if name != "modelId"})
    region = _region(call, model_id, identity)
    url = f"{_host(call, region)}/model/{quote(model_id, safe='')}/converse-stream"
    headers = {"Content-Type": "application/json"}
    if identity.token:
        headers["Authorization"] = f"Bearer {identity.token}"
    elif identity.keys is not None:
        scope = scope_at(now_ms, region=region, service=SERVICE)
        headers = sign("POST", url, headers, body, keys=identity.keys, scope=scope)
    headers |= {"Accept": "application/vnd.amazon.eventstream", "User-Agent": user_agent()}
    return RestRequest(url=url, headers=headers, body=body)


def _region(call: Call, model_id: str, identity: AwsIdentity) -> str:
    """Return the region: from the model's ARN, the user's settings, or the base URL."""
    if match := re.match(_ARN_REGION, model_id):
        return match[1]
    if identity.region:
        return identity.region
    named = re.search(_REGION, call.base_url)
    return named[0] if named else DEFAULT_REGION


def _host(call: Call, region: str) -> str:
    """Return the base URL; one of AWS's own follows the region."""
    match = re.fullmatch(_AWS_HOST, call.base_url)
    if call.base_url and match is None:
        return call.base_url
    service = match[1] if match else "https://bedrock-runtime"
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"{service}.{region}.amazonaws.com{suffix}"


# Repairs of rejected requests ---------------------------------------------------------------------
#
# Bedrock sends only ``ValidationException`` and a sentence, so the sentence decides; each repair
# also needs its cause in the payload.


_SIGNATURE = r"(?is)signature|thinking.*blocks.*cannot be modified"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``."""
    if refusal.status is None:
        return None  # it was rejected after the response had begun
    if re.search(_SIGNATURE, refusal.message) and _has_thoughts(payload):
        return Repairs(thinking=True)
    tools = (payload.get("toolConfig") or {}).get("tools", ())
    strict = any(tool.get("toolSpec", {}).get("strict") for tool in tools)
    return Repairs(strict=True) if strict else None


def _has_thoughts(payload: Json) -> bool:
    return any(
        "reasoningContent" in block
        for message in payload.get("messages", ())
        for block in message["content"]
    )
