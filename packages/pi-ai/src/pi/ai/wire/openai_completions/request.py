"""Sends a call to ``/chat/completions``: encodes it, and repeats a repaired request.

Encoding is pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    Tool,
    ToolResultMessage,
)
from pi.ai.request import Call, user_id
from pi.ai.transcript import final_tools, fold
from pi.ai.wire.openai_completions.caching import affinity_headers, cache_fields, mark_breakpoints
from pi.ai.wire.openai_completions.compat import Compat, compat_of
from pi.ai.wire.openai_completions.history import History
from pi.ai.wire.openai_completions.repairs import TOKEN_IDS_FIELD, next_repair
from pi.ai.wire.openai_completions.thinking import thinking_fields
from pi.ai.wire.openai_completions.tools import (
    ToolForms,
    declaration,
    text_inputs,
    tool_choice,
    tool_forms,
)
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    refuses_strict,
    refuses_token_ids,
    send_with_repairs,
    without_refused_thoughts,
)


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``.

    Rejected thinking or strict tool schemas are left out and the request sent again at once. A
    diagnostic of the message records it, and later turns leave them out.
    """
    compat = compat_of(call)

    def decoder() -> Decoder:
        # Lazy: loaded while the server answers.
        from pi.ai.wire.openai_completions.response import ChatDecoder

        return ChatDecoder(call, builder, free_text_inputs(call, compat))

    async def deliver(payload: Json) -> None:
        await send(
            call,
            payload,
            url=url(call),
            headers=headers(call, compat),
            decoder=decoder,
            builder=builder,
            flush=flush,
            services=services,
        )

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=partial(encode, call, compat=compat),
        deliver=deliver,
        next_repair=next_repair,
    )


def encode(call: Call, repairs: Repairs = NO_REPAIRS, *, compat: Compat | None = None) -> Json:
    """Return the body; sampling parameters of the model and the caller come last and win."""
    compat = compat or compat_of(call)
    instructions, rest = fold(call.messages, keep_later=compat.supports_mid_convo_system_messages)
    forms = ToolForms()
    if instructions.tools:
        loose = refuses_strict(rest, call.model, repairs)
        forms = tool_forms(instructions.tools, compat, strict_refused=loose)
    late = _late_tools(rest, instructions.tools, compat)
    history = History(call.model, compat, forms, late, call.kept)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    payload: Json = {
        "model": call.model.id,
        "messages": history.encode(instructions.prompt, trusted),
        "stream": True,
    }
    if compat.supports_usage_in_streaming:
        payload["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        payload["store"] = False
    if (most := call.max_tokens) > 0:  # otherwise the model's limit is unknown
        payload[compat.max_tokens_field] = most
    if call.options.temperature is not None:
        payload["temperature"] = call.options.temperature
    # other metadata is rejected unless responses are stored
    if (user := user_id(call)) is not None:
        payload["user"] = user
    if instructions.tools:
        payload |= _tool_fields(call, compat, instructions.tools, forms, late)
    elif compat.requires_tools_with_tool_history and _has_calls(rest):
        payload["tools"] = []
    payload |= _routing(compat)
    payload |= thinking_fields(call, compat)
    payload |= cache_fields(call, compat)
    mark_breakpoints(payload, call, compat)
    if compat.return_token_ids and not refuses_token_ids(rest, call.model, repairs):
        payload |= {TOKEN_IDS_FIELD: True, "logprobs": True}
    return payload | call.sampling


def url(call: Call) -> str:
    """Return the URL; a query of the base URL stays at the end."""
    base, mark, query = call.base_url.partition("?")
    return f"{base.rstrip('/')}/chat/completions{mark}{query}"


def headers(call: Call, compat: Compat | None = None) -> dict[str, str]:
    """Return the wire's own headers; servers on this machine may need no key."""
    key = call.access.api_key
    return {
        **({"Authorization": f"Bearer {key}"} if key else {}),
        "User-Agent": user_agent(),
        "Content-Type": "application/json",
        **affinity_headers(call, compat or compat_of(call)),
    }


def free_text_inputs(call: Call, compat: Compat | None = None) -> Mapping[str, str]:
    """Return tools that the model calls with free text, and the argument that it becomes."""
    compat = compat or compat_of(call)
    if not compat.supports_openai_grammar_tools:
        return {}
    system = [message for message in call.messages if isinstance(message, SystemMessage)]
    return text_inputs(final_tools(system), compat)


def _late_tools(
    messages: Sequence[Message], tools: Sequence[Tool], compat: Compat
) -> dict[str, Tool]:
    """Return tools that were added later, if the server supports declaring them there."""
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
    requested = call.options.tool_choice
    if requested is not None and (choice := tool_choice(requested, tools, forms)) is not None:
        fields["tool_choice"] = choice
    if compat.zai_tool_stream:
        fields["tool_stream"] = True
    return fields


def _has_calls(messages: Sequence[Message]) -> bool:
    return any(
        isinstance(message, ToolResultMessage)
        or (isinstance(message, AssistantMessage) and bool(message.tool_calls))
        for message in messages
    )


def _routing(compat: Compat) -> Json:
    """Return routing preferences and service tier."""
    fields: Json = {}
    if compat.vllm_priority is not None:
        fields["priority"] = compat.vllm_priority
    if compat.open_router_routing:
        fields["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing:
        fields["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    return fields
