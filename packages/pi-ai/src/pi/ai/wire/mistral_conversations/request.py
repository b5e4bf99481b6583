"""Encodes a call as Mistral's chat completion request. Pure.

``encode`` returns the arguments of Mistral's SDK, the form in which payloads are passed to hooks;
``rest_body`` turns them into the body of the REST API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.ai.http.user_agent import user_agent
from pi.ai.messages import (
    Json,
    Tool,
)
from pi.ai.models.thinking_levels import level_word
from pi.ai.request import Call, ToolChoice, read_flags, valid_tool_choice
from pi.ai.transcript import fold
from pi.ai.wire.mistral_conversations.history import encode_messages
from pi.ai.wire_support.tool_schemas import NO_STRICT_TOOLS, refuse_loosening
from pi.base.records import Record

_CAPITAL = r"(?<=[a-z])([A-Z])"


class Compat(Record):
    """The flags of this wire."""

    supports_mid_convo_system_messages: bool = False


def encode(call: Call) -> Json:
    """Return the payload: the arguments of Mistral's SDK."""
    flags = read_flags(call.model, Compat)
    instructions, rest = fold(call.messages, keep_later=flags.supports_mid_convo_system_messages)
    messages = encode_messages(rest, call.model, call.kept)
    if instructions.prompt:
        messages.insert(0, {"role": "system", "content": instructions.prompt})
    payload: Json = {"model": call.model.id, "stream": True, "messages": messages}
    if instructions.tools:
        refuse_loosening(instructions.tools, NO_STRICT_TOOLS)
        payload["tools"] = [_declaration(tool) for tool in instructions.tools]
        if (choice := _tool_choice(call.options.tool_choice, instructions.tools)) is not None:
            payload["toolChoice"] = choice
    payload["maxTokens"] = call.max_tokens
    if call.options.temperature is not None:
        payload["temperature"] = call.options.temperature
    if call.options.metadata:
        payload["metadata"] = call.options.metadata
    if call.cached_session is not None:
        payload["promptCacheKey"] = call.cached_session
    payload |= _thinking(call)
    return payload | call.sampling


def rest_body(payload: Json) -> Json:
    """Return the REST body for ``payload``: the same with other names."""
    body = _renamed(payload)
    body["messages"] = [_rest_message(message) for message in payload.get("messages", ())]
    return body


def url(call: Call) -> str:
    """Return the URL of the stream."""
    return f"{call.base_url.removesuffix('/v1')}/v1/chat/completions"


def headers(call: Call) -> dict[str, str]:
    """Return content type, user agent, the key, and the header that keeps a session on one
    server."""
    named = {"Content-Type": "application/json", "User-Agent": user_agent()}
    if call.access.api_key:
        named["Authorization"] = f"Bearer {call.access.api_key}"
    if call.cached_session is not None:
        named["x-affinity"] = call.cached_session
    return named


def _declaration(tool: Tool) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice | None, tools: Sequence[Tool]) -> str | Json | None:
    """Return the wire's form of ``choice``; ``None`` leaves it out."""
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return word
        case {"type": "any"}:
            return "any"
        case {"name": name}:
            return {"type": "function", "function": {"name": name}}
        case _:
            return None


def _thinking(call: Call) -> Json:
    """Magistral has a thinking mode; other models take an effort, usually all or none."""
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return {}
    if "magistral" in model.id:
        return {} if level == "off" else {"promptMode": "reasoning"}
    level_map = model.thinking_level_map or {}
    if level in level_map:
        return {"reasoningEffort": level_word(model, level)}
    return {"reasoningEffort": "none" if level == "off" else "high"}


def _rest_message(message: Json) -> Json:
    renamed = _renamed(message)
    if isinstance(content := message.get("content"), list):
        renamed["content"] = [_renamed(part) for part in content]
    return renamed


def _renamed(fields: Json) -> Json:
    return {re.sub(_CAPITAL, r"_\1", name).lower(): value for name, value in fields.items()}
