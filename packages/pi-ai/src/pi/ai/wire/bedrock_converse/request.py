"""Encodes a call as arguments of AWS's ``converse_stream``. Pure.

Bytes stay bytes in ``messages``, as in the arguments of AWS's SDK; JSON has them as base64.
"""

from __future__ import annotations

import re

from pi.ai.messages import (
    Json,
)
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.ai.wire.bedrock_converse.compat import ModelCompat, compat_of
from pi.ai.wire.bedrock_converse.history import encode_messages, history_for
from pi.ai.wire.bedrock_converse.thinking import thinking_fields, thinks_without_limits
from pi.ai.wire.bedrock_converse.tools import tool_choice, tool_config
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    lacks_thinking,
    refuses_strict,
    without_refused_thoughts,
)

DEFAULT_CAP = 4096
"""The output limit if neither the caller nor the model names one; without any cap Bedrock reserves
the model's whole output from the account's quota."""

MAX_LABELS = 16
_LABEL = r"(?a)[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}"


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the payload; images and redacted thinking are bytes."""
    traits = compat_of(call.model)
    instructions, rest = fold(call.messages, keep_later=False)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    history = history_for(trusted, call.model, call.kept)
    messages = encode_messages(history, traits, call.kept)
    system: list[Json] = [{"text": instructions.prompt}] if instructions.prompt.strip() else []
    if (point := _cache_point(call, traits)) is not None:
        if system:
            system.append(point)
        if messages and messages[-1]["role"] == "user":
            messages[-1] = {"role": "user", "content": [*messages[-1]["content"], point]}
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
