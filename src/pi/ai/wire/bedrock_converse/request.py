"""Encodes a call as arguments of AWS's ``converse_stream`` and as an HTTP request. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

from pi.ai.errors import BadRequest
from pi.ai.http.request import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.ai.wire.bedrock_converse.compat import (
    ModelCompat,
    compat_of,
    thinking_fields,
    thinks_without_limits,
)
from pi.ai.wire.bedrock_converse.history import (
    encode_messages,
    history_for,
    tool_choice,
    tool_config,
)
from pi.ai.wire.bedrock_converse.signing import DEFAULT_REGION, AwsIdentity, scope_at, sign
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    lacks_thinking,
    refuses_strict,
    without_refused_thoughts,
)
from pi.base.records import Record

DEFAULT_CAP = 4096
"""The output limit if neither the caller nor the model names one; without any cap Bedrock reserves
the model's whole output from the account's quota."""

MAX_LABELS = 16
_LABEL = r"(?a)[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}"


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Returns the payload; images and redacted thinking are bytes."""
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
    """Returns the cache point of the prompt, with the requested and supported lifetime."""
    if traits.cache == "none" or call.options.cache_retention == "none":
        return None
    if call.options.cache_retention == "long" and traits.cache == "long":
        return {"cachePoint": {"type": "default", "ttl": "1h"}}
    return {"cachePoint": {"type": "default"}}


def _is_forced(choice: Json | None) -> bool:
    return choice is not None and "auto" not in choice


def _labels(call: Call) -> dict[str, str]:
    """Returns the caller's metadata, as far as the logs accept it."""
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


# The HTTP request that AWS's SDK would make.


SERVICE = "bedrock"

_ARN_REGION = r"arn:aws[a-z-]*:bedrock:([a-z0-9-]+):"
_REGION = r"(?<![a-z0-9-])[a-z]{2}(?:-[a-z]+)+-\d(?![a-z0-9-])"
_AWS_HOST = r"(https://bedrock-runtime(?:-fips)?)\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?"


class RestRequest(Record):
    """A request that is ready to be sent."""

    url: str
    headers: dict[str, str]
    body: bytes


def rest(call: Call, payload: Json, identity: AwsIdentity, now_ms: int) -> RestRequest:
    """Returns the request for ``payload``, signed now unless there is a bearer token."""
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
    """Returns the region: from the model's ARN, the user's settings, or the base URL."""
    if found := re.match(_ARN_REGION, model_id):
        return found[1]
    if identity.region:
        return identity.region
    named = re.search(_REGION, call.base_url)
    return named[0] if named else DEFAULT_REGION


def _host(call: Call, region: str) -> str:
    """Returns the base URL; one of AWS's own follows the region."""
    known = re.fullmatch(_AWS_HOST, call.base_url)
    if call.base_url and known is None:
        return call.base_url
    service = known[1] if known else "https://bedrock-runtime"
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"{service}.{region}.amazonaws.com{suffix}"


# Repairs of rejected requests. Bedrock sends only ``ValidationException`` and a sentence, so the
# sentence decides; each repair also needs its cause in the payload.


_SIGNATURE = r"(?is)signature|thinking.*blocks.*cannot be modified"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Returns the repair for ``refusal``."""
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
