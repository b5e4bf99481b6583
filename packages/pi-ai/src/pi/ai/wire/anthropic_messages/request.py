"""Encodes a call as a request to ``/v1/messages``. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.http.user_agent import user_agent
from pi.ai.messages import (
    Json,
)
from pi.ai.request import Call, user_id
from pi.ai.transcript import fold
from pi.ai.wire.anthropic_messages.compat import Compat, compat_of
from pi.ai.wire.anthropic_messages.history import HistoryStyle, encode_history
from pi.ai.wire.anthropic_messages.thinking import (
    ThinkingPlan,
    efforts,
    plan_thinking,
    with_room_to_think,
)
from pi.ai.wire.anthropic_messages.tools import (
    DeclaredTools,
    declarations,
    is_forced,
    offer,
    tool_choice,
)
from pi.ai.wire_support.handoff import plain_id, prepare
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    lacks_thinking,
    refuses_strict,
    without_refused_thoughts,
)

VERSION = "2023-06-01"

OAUTH = "oauth-2025-04-20"
FINE_GRAINED_STREAMING = "fine-grained-tool-streaming-2025-05-14"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
CHANGING_EFFORT = "mid-conversation-output-config-2026-07-01"
CHANGING_TOOLS = "mid-conversation-tool-changes-2026-07-01"
FALLBACK_MODELS = "server-side-fallback-2026-06-01"


def url(call: Call) -> str:
    """Return the URL of the request."""
    return f"{call.base_url}/v1/messages?beta=true"


def headers(call: Call, betas: Sequence[str] = ()) -> dict[str, str]:
    """Return the headers of the request, with the features of ``betas``."""
    named: dict[str, str] = {"anthropic-version": VERSION}
    if call.access.api_key is not None and not _brings_authorization(call):
        if call.access.kind == "oauth":
            named["Authorization"] = f"Bearer {call.access.api_key}"
            betas = (OAUTH, *betas)
        else:
            named["x-api-key"] = call.access.api_key
    named["User-Agent"] = user_agent()
    named["anthropic-dangerous-direct-browser-access"] = "true"
    named["content-type"] = "application/json"
    if betas:
        named["anthropic-beta"] = ",".join(betas)
    session_header = compat_of(call).session_header
    if session_header and call.options.session_id:
        named[session_header] = call.options.session_id
    return named


def encode(call: Call, repairs: Repairs = NO_REPAIRS, *, interleaved: bool = True) -> Json:
    """Return the payload: the body of the request, and ``betas``, which go into a header
    instead."""
    compat = compat_of(call)
    instructions, rest = fold(call.messages, keep_later=compat.supports_mid_convo_system_messages)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    history = prepare(trusted, call.model, plain_id, call.kept)
    offered = offer(call.messages, compat, dropped=repairs.tools)
    choice = tool_choice(call.options.tool_choice, offered.names)
    lost = not compat.force_adaptive_thinking and lacks_thinking(rest, call.model, repairs)
    may_think = not is_forced(choice) and not lost
    plan = plan_thinking(call, compat, allowed=may_think)
    if plan.has_budget and not interleaved:
        call = with_room_to_think(call)
        plan = plan_thinking(call, compat, allowed=may_think)
    style = HistoryStyle(
        model=call.model,
        offer=offered,
        efforts=efforts(call.model, compat, plan, history),
        allow_empty_signature=compat.allow_empty_signature,
    )
    cache = cache_control(call, compat)
    loose = refuses_strict(rest, call.model, repairs)
    fields = {
        "model": call.model.id,
        "messages": encode_history(history, style, cache, call.kept),
        "max_tokens": call.max_tokens,
        "stream": True,
        "betas": _betas(compat, plan, offered, interleaved=interleaved),
        "system": _system(instructions.prompt, cache),
        "temperature": _temperature(call, compat, plan),
        "tools": declarations(offered, compat, cache=cache, strict_refused=loose),
        "tool_choice": choice,
        "thinking": plan.thinking,
        "output_config": _output_config(style.efforts.first if style.efforts else plan.effort),
        "metadata": _metadata(call),
        "fallbacks": [{"model": other.model} for other in compat.allowed_fallback_models],
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


def cache_control(call: Call, compat: Compat) -> Json | None:
    """Return the cache mark of the prompt; ``None`` if caching is off."""
    match call.options.cache_retention:
        case "none":
            return None
        case "long" if compat.supports_long_cache_retention:
            return {"type": "ephemeral", "ttl": "1h"}
        case _:
            return {"type": "ephemeral"}


def _brings_authorization(call: Call) -> bool:
    return any(name.lower() == "authorization" for name in call.access.headers)


def _betas(
    compat: Compat, plan: ThinkingPlan, offered: DeclaredTools, *, interleaved: bool
) -> list[str]:
    features = {
        FINE_GRAINED_STREAMING: offered.tools and not compat.supports_eager_tool_input_streaming,
        INTERLEAVED_THINKING: plan.has_budget and interleaved,
        CHANGING_EFFORT: compat.supports_mid_convo_effort,
        CHANGING_TOOLS: offered.in_place,
        FALLBACK_MODELS: compat.allowed_fallback_models,
    }
    return [name for name, needed in features.items() if needed]


def _system(prompt: str, cache: Json | None) -> list[Json]:
    if not prompt.strip():
        return []
    block: Json = {"type": "text", "text": prompt}
    return [block if cache is None else {**block, "cache_control": cache}]


def _temperature(call: Call, compat: Compat, plan: ThinkingPlan) -> float | None:
    if plan.active or not compat.supports_temperature:
        return None
    return call.options.temperature


def _output_config(effort: str | None) -> Json | None:
    return None if effort is None else {"effort": effort}


def _metadata(call: Call) -> Json | None:
    """Return the user id; the server supports no other metadata."""
    user = user_id(call)
    return None if user is None else {"user_id": user}
