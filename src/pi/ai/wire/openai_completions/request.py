"""A call → the request to ``/chat/completions``. Pure, and equal calls give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi.ai.diagnostics import NO_REPAIRS, Repairs, refuses_strict, without_refused_thoughts
from pi.ai.handoff import prepare
from pi.ai.messages import Json, Message, SystemMessage, Tool
from pi.ai.metadata import user_id
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.ai.user_agent import user_agent
from pi.ai.wire.openai_completions.caching import affinity_headers, cache_fields, mark_breakpoints
from pi.ai.wire.openai_completions.compat import Compat, compat_of
from pi.ai.wire.openai_completions.history import History, id_maker
from pi.ai.wire.openai_completions.thinking import thinking_fields
from pi.ai.wire.openai_completions.tools import (
    ToolForms,
    declaration,
    text_inputs,
    tool_choice,
    tool_forms,
)


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """The body; what the model's and the caller's sampling parameters say comes last and wins."""
    compat = compat_of(call)
    instructions, rest = fold(call.messages, keep_later=compat.supports_mid_convo_system_messages)
    loose = refuses_strict(rest, call.model, repairs)
    forms = tool_forms(instructions.tools, compat, strict_refused=loose)
    late = _late_tools(rest, instructions.tools, compat)
    history = History(call.model, compat, forms, late)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    prepared = prepare(trusted, call.model, id_maker(call.model))
    payload: Json = {
        "model": call.model.id,
        "messages": history.encode(instructions.prompt, prepared),
        "stream": True,
    }
    if compat.supports_usage_in_streaming:
        payload["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        payload["store"] = False
    if call.max_tokens > 0:  # otherwise the model's limit is not known
        payload[compat.max_tokens_field] = call.max_tokens
    if call.options.temperature is not None:
        payload["temperature"] = call.options.temperature
    if (user := user_id(call)) is not None:  # other metadata is refused with answers not stored
        payload["user"] = user
    if instructions.tools:
        payload |= _tool_fields(call, compat, instructions.tools, forms, late)
    payload |= _routing(compat)
    payload |= thinking_fields(call, compat)
    payload |= cache_fields(call, compat)
    mark_breakpoints(payload, call, compat)
    return payload | call.sampling


def url(call: Call) -> str:
    """Where the request goes; a query of the base URL stays at the end."""
    base, mark, query = call.base_url.partition("?")
    return f"{base.rstrip('/')}/chat/completions{mark}{query}"


def headers(call: Call) -> dict[str, str]:
    """The wire's own headers; servers on this machine may need no key."""
    key = call.access.api_key
    return {
        **({"Authorization": f"Bearer {key}"} if key else {}),
        "User-Agent": user_agent(),
        "Content-Type": "application/json",
        **affinity_headers(call, compat_of(call)),
    }


def free_text_inputs(call: Call) -> Mapping[str, str]:
    """Tools that the model answers with free text, and the argument that it becomes."""
    instructions, _ = fold(call.messages, keep_later=False)
    return text_inputs(instructions.tools, compat_of(call))


def _late_tools(
    messages: Sequence[Message], tools: Sequence[Tool], compat: Compat
) -> dict[str, Tool]:
    """Tools that were added on the way, where the server can learn of them there."""
    if not compat.supports_mid_convo_tool_additions:
        return {}
    current = {tool.name: tool for tool in tools}
    return {
        tool.name: tool
        for message in messages
        if isinstance(message, SystemMessage)
        for tool in message.tools_added or ()
        if current.get(tool.name) is tool
    }


def _tool_fields(
    call: Call,
    compat: Compat,
    tools: Sequence[Tool],
    forms: ToolForms,
    late: Mapping[str, Tool],
) -> Json:
    fields: Json = {}
    if declared := [declaration(tool, forms) for tool in tools if tool.name not in late]:
        fields["tools"] = declared
    if (choice := tool_choice(call.options.tool_choice, tools, forms)) is not None:
        fields["tool_choice"] = choice
    if compat.zai_tool_stream:
        fields["tool_stream"] = True
    return fields


def _routing(compat: Compat) -> Json:
    """Who serves the request, and when."""
    fields: Json = {}
    if compat.vllm_priority is not None:
        fields["priority"] = compat.vllm_priority
    if compat.open_router_routing:
        fields["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing:
        fields["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    return fields
