"""Prompt caching: keys, headers and breakpoints."""

from __future__ import annotations

from pi.ai.kept import as_json
from pi.ai.messages import Json
from pi.ai.request import Call, host_of
from pi.ai.wire.openai_completions.compat import OPENAI_HOST, Compat

MAX_KEY_LENGTH = 64
"""Maximum length of a cache key at OpenAI."""


def cache_fields(call: Call, compat: Compat) -> Json:
    """Return the cache fields of OpenAI's API."""
    options = call.options
    long = options.cache_retention == "long" and compat.supports_long_cache_retention
    if options.cache_retention == "none" or compat.cache_control_format is not None:
        return {}
    fields: Json = {}
    mode = compat.prompt_cache_key_mode
    has_key = long or host_of(call) == OPENAI_HOST if mode == "auto" else mode == "enabled"
    if options.session_id and has_key:
        fields["prompt_cache_key"] = options.session_id[:MAX_KEY_LENGTH]
    if long:
        fields["prompt_cache_retention"] = "24h"
    return fields


def affinity_headers(call: Call, compat: Compat) -> dict[str, str]:
    """Return headers that route a conversation to the machine that has its prefix."""
    session = call.cached_session
    if not session or not compat.send_session_affinity_headers:
        return {}
    match compat.session_affinity_format:
        case "openrouter":
            return {"x-session-id": session}
        case "openai-nosession":
            return {"x-client-request-id": session, "x-session-affinity": session}
        case "openai":
            return {
                "session_id": session,
                "x-client-request-id": session,
                "x-session-affinity": session,
            }


def mark_breakpoints(payload: Json, call: Call, compat: Compat) -> None:
    """Set Anthropic's cache breakpoints: instructions, tools, conversation so far."""
    if compat.cache_control_format is None or call.options.cache_retention == "none":
        return
    control: Json = {"type": "ephemeral"}
    if call.options.cache_retention == "long" and compat.supports_long_cache_retention:
        control["ttl"] = "1h"
    messages: list[Json] = payload["messages"]
    first = as_json(messages[0]) if messages else {}
    if first.get("role") in ("system", "developer") and "content" in first:
        messages[0] = _marked(first, control)
    if tools := payload.get("tools"):
        tools[-1]["cache_control"] = control
    for index in range(len(messages) - 1, -1, -1):
        message = as_json(messages[index])
        if message["role"] in ("user", "tool"):
            messages[index] = _marked(message, control)
            return


def _marked(message: Json, control: Json) -> Json:
    """Return ``message`` with a mark on its last text; its content becomes a list of parts."""
    content = message["content"]
    parts: list[Json] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    )
    texts = (index for index in reversed(range(len(parts))) if parts[index]["type"] == "text")
    last = next(texts, len(parts) - 1)
    parts[last] = {**parts[last], "cache_control": control}
    return {**message, "content": parts}
