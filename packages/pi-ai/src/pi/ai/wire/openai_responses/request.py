"""Encodes a call as body, URL and headers of ``POST /responses``; selects repairs.

The parts that the Azure and Codex variants share are here too.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.event_stream import Flush
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import AssistantMessage, Json
from pi.ai.models.thinking_levels import level_word
from pi.ai.request import Call, user_id
from pi.ai.transcript import fold
from pi.ai.wire.openai_responses.input_items import CallIds, input_items, short_key
from pi.ai.wire.openai_responses.tools import (
    Compat,
    ResponsesTools,
    pack_tools,
    read_compat,
    text_arguments,
    tool_choice,
)
from pi.ai.wire_support.exchange import Services, send
from pi.ai.wire_support.handoff import prepare
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    refuses_strict,
    send_with_repairs,
    without_refused_thoughts,
    without_thinking,
)
from pi.base.records import Record, replace

if TYPE_CHECKING:
    # Lazy: loaded while the server answers.
    from pi.ai.wire.openai_responses.response import ResponsesDecoder


# Repairs of rejected requests ---------------------------------------------------------------------


_REFUSED_THOUGHT = r"invalid_encrypted_content|Item (?:with id )?'rs_"
_REFUSED_SCHEMA = r"invalid_function_parameters|Invalid schema for function"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``, if its cause is in ``payload``."""
    if refusal.status is None:  # an error inside a stream that had begun
        return None
    if re.search(_REFUSED_THOUGHT, refusal.message):
        items = payload.get("input") or ()
        has_reasoning = any(item.get("type") == "reasoning" for item in items)
        return Repairs(thinking=True) if has_reasoning else None
    if re.search(_REFUSED_SCHEMA, refusal.message):
        tools = payload.get("tools") or ()
        return Repairs(strict=True) if any(tool.get("strict") for tool in tools) else None
    return None


def drop_reasoning(answer: AssistantMessage) -> AssistantMessage:
    """Return ``answer`` without reasoning, and without ids of items that depend on it."""
    return replace(without_thinking(answer), model="")


SMALLEST_ANSWER = 16
"""Minimum of ``max_output_tokens`` that the server accepts."""

ENCRYPTED_REASONING = "reasoning.encrypted_content"


class RequestParts(Record):
    """The parts of a body, independent of the variant."""

    prompt: str
    items: list[Json]
    toolbox: ResponsesTools


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the body."""
    return encode_body(call, read_compat(call.model), repairs)


def url(call: Call) -> str:
    """Return the URL."""
    return f"{call.base_url}/responses"


def headers(call: Call) -> dict[str, str]:
    """Return the headers, with the key and the routing of a session to the same cache."""
    return {
        **bearer(call),
        "content-type": "application/json",
        "user-agent": user_agent(),
        **affinity_headers(call, read_compat(call.model)),
    }


def encode_body(call: Call, compat: Compat, repairs: Repairs) -> Json:
    """Return the body for OpenAI and Azure."""
    material = collect_parts(call, compat, repairs)
    lead = [{"role": system_role(call, compat), "content": material.prompt}]
    body: Json = {
        "model": call.model.id,
        "input": [*(lead if material.prompt else ()), *material.items],
        "stream": True,
        **cache_fields(call, compat),
        "store": False,
    }
    if compat.supports_max_output_tokens:
        body["max_output_tokens"] = max(call.max_tokens, SMALLEST_ANSWER)
    if call.options.temperature is not None:
        body["temperature"] = call.options.temperature
    if (user := user_id(call)) is not None:
        body["user"] = user
    if material.toolbox.first:
        body["tools"] = list(material.toolbox.first)
    if choice := tool_choice(call.options.tool_choice, material.toolbox):
        body["tool_choice"] = choice
    reasoning = reasoning_field(call, compat)
    if reasoning is not None:
        body["reasoning"] = reasoning
    if compat.thinks_unasked or thinks(call):
        body["include"] = [ENCRYPTED_REASONING]
    return body | call.sampling


def collect_parts(call: Call, compat: Compat, repairs: Repairs) -> RequestParts:
    """Fold and prepare the conversation, and declare its tools."""
    instructions, rest = fold(call.messages, keep_later=compat.supports_mid_convo_system_messages)
    loose = refuses_strict(rest, call.model, repairs)
    toolbox = pack_tools(call.messages, instructions.tools, compat, strict_refused=loose)
    trusted = without_refused_thoughts(rest, call.model, repairs, forget=drop_reasoning)
    history = prepare(trusted, call.model, CallIds(call.model))
    items = input_items(history, toolbox, system_role=system_role(call, compat))
    return RequestParts(prompt=instructions.prompt, items=items, toolbox=toolbox)


def answer_items(call: Call, compat: Compat, answer: AssistantMessage) -> list[Json]:
    """Return the items of ``answer``, the response to ``call``, in the next request."""
    instructions, _ = fold(call.messages, keep_later=False)
    toolbox = pack_tools(call.messages, instructions.tools, compat)
    prepared, *_ = prepare((answer,), call.model, CallIds(call.model))
    return input_items((prepared,), toolbox, system_role=system_role(call, compat))


def text_arguments_of(call: Call) -> dict[str, str]:
    """Return, by tool name, the argument that the text of a plain-text call becomes."""
    instructions, _ = fold(call.messages, keep_later=False)
    return text_arguments(instructions.tools, read_compat(call.model))


def system_role(call: Call, compat: Compat) -> str:
    """Return the role of the instructions."""
    return "developer" if call.model.reasoning and compat.supports_developer_role else "system"


def thinks(call: Call) -> bool:
    """Whether thinking is requested."""
    return call.model.reasoning and call.options.reasoning != "off"


def reasoning_field(call: Call, compat: Compat) -> Json | None:
    """Return the thinking setting; ``None`` leaves it to the server's default."""
    if thinks(call):
        summary = {"summary": "auto"}
        if not compat.supports_reasoning_effort:
            return summary
        return {"effort": level_word(call.model, call.options.reasoning), **summary}
    level_map = call.model.thinking_level_map
    off = level_map.get("off", compat.off_word) if isinstance(level_map, dict) else compat.off_word
    if off is None or not call.model.reasoning or not compat.supports_reasoning_effort:
        return None
    return {"effort": off}


def cache_fields(call: Call, compat: Compat) -> Json:
    """Return the cache key of the session and its retention."""
    retention, session = call.options.cache_retention, call.options.session_id
    if retention == "none":
        explicit = compat.supports_explicit_prompt_cache_mode
        return {"prompt_cache_options": {"mode": "explicit"}} if explicit else {}
    fields: Json = {"prompt_cache_key": short_key(session)} if session else {}
    if retention == "long" and compat.supports_long_cache_retention:
        fields["prompt_cache_retention"] = "24h"
    return fields


def bearer(call: Call) -> dict[str, str]:
    """Return the key as a header, if there is one."""
    key = call.access.api_key
    return {"authorization": f"Bearer {key}"} if key else {}


def affinity_headers(call: Call, compat: Compat) -> dict[str, str]:
    """Return headers that let a gateway route the turns of a session to the same machine."""
    if not call.cached_session:
        return {}
    session = short_key(call.cached_session)
    match compat.session_affinity_format:
        case "openai":
            return {"session_id": session, "x-client-request-id": session}
        case "openai-nosession":
            return {"x-client-request-id": session}
        case "openrouter":
            return {"x-session-id": session}


# Sending, shared by the variants ------------------------------------------------------------------


class ResponsesCall(Record, kw_only=False):
    """One call, with the builder of its response."""

    call: Call
    builder: MessageBuilder
    flush: Flush
    services: Services

    async def ask(
        self,
        *,
        encode: Callable[[Repairs], Json],
        deliver: Callable[[Json], Awaitable[None]],
    ) -> None:
        """Encode and send; each repair is tried once and noted."""
        await send_with_repairs(
            self.call,
            self.builder,
            self.services.clock,
            encode=encode,
            deliver=deliver,
            next_repair=next_repair,
        )

    async def post(self, payload: Json, *, url: str, headers: Mapping[str, str]) -> None:
        """Send over HTTP, and decode the events of the response."""
        await send(
            self.call,
            payload,
            url=url,
            headers=headers,
            decoder=self.decoder,
            builder=self.builder,
            flush=self.flush,
            services=self.services,
        )

    def decoder(self) -> ResponsesDecoder:
        """Return the decoder of the response."""
        from pi.ai.wire.openai_responses.response import ResponsesDecoder

        return ResponsesDecoder(self.builder, text_arguments_of(self.call))
