"""Encodes a call as body, URL and headers of ``POST /responses``.

The parts that the Azure and Codex variants share are here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.ai.http.user_agent import user_agent
from pi.ai.messages import AssistantMessage, Json
from pi.ai.models.thinking_levels import clamp_level, level_word
from pi.ai.request import Call, user_id
from pi.ai.transcript import fold
from pi.ai.wire.openai_responses.compat import Compat, read_compat
from pi.ai.wire.openai_responses.identifiers import CallIds, short_key
from pi.ai.wire.openai_responses.input_items import effort_item, input_items
from pi.ai.wire.openai_responses.repairs import drop_reasoning
from pi.ai.wire.openai_responses.tools import (
    ResponsesTools,
    pack_tools,
    text_arguments,
    tool_choice,
)
from pi.ai.wire_support.handoff import prepare
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    refuses_strict,
    without_refused_thoughts,
)
from pi.base.records import Record

if TYPE_CHECKING:
    # Lazy: loaded while the server answers.
    pass


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
    history = prepare(trusted, call.model, CallIds(call.model), call.kept)
    role, level = system_role(call, compat), changing_level(call, compat)
    if level is None:
        items = input_items(history, toolbox, system_role=role, kept=call.kept)
    else:
        items = input_items(history, toolbox, system_role=role, model=call.model, kept=call.kept)
        items.append(effort_item(level))
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


def changing_level(call: Call, compat: Compat) -> str | None:
    """Return the effort of this answer, if it is an item of the conversation; else ``None``."""
    if not compat.supports_mid_convo_effort or not thinks(call):
        return None
    return level_word(call.model, call.options.reasoning)


def thinks(call: Call) -> bool:
    """Whether thinking is requested."""
    return call.model.reasoning and call.options.reasoning != "off"


def reasoning_field(call: Call, compat: Compat) -> Json | None:
    """Return the thinking setting; ``None`` leaves it to the server's default."""
    if thinks(call):
        summary = {"summary": "auto"}
        if not compat.supports_reasoning_effort:
            return summary
        level = call.options.reasoning
        if compat.supports_mid_convo_effort:
            level = clamp_level(call.model, "medium")  # the same in every request: it is cached
        return {"effort": level_word(call.model, level), **summary}
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
    fields: Json = {}
    if session and compat.prompt_cache_key_mode != "disabled":
        fields["prompt_cache_key"] = short_key(session)
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
            return {"session-id": session, "x-client-request-id": session}
        case "openai-nosession":
            return {"x-client-request-id": session}
        case "openrouter":
            return {"x-session-id": session}
