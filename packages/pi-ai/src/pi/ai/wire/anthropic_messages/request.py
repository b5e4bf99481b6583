"""Encodes a call and its conversation as a request to ``/v1/messages``; selects repairs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pi.ai.errors import BadRequest
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Call, user_id
from pi.ai.transcript import fold, render_update
from pi.ai.wire.anthropic_messages.compat import (
    Compat,
    Efforts,
    ThinkingPlan,
    compat_of,
    efforts,
    own_level,
    plan_thinking,
    with_room_to_think,
)
from pi.ai.wire.anthropic_messages.tools import (
    DeclaredTools,
    changes,
    declarations,
    is_forced,
    offer,
    tool_choice,
)
from pi.ai.wire_support.handoff import NO_OUTPUT, plain_id, prepare
from pi.ai.wire_support.repairs import (
    NO_REPAIRS,
    Repairs,
    lacks_thinking,
    refuses_strict,
    without_refused_thoughts,
)
from pi.base.records import Record


class HistoryStyle(Record):
    """How a conversation is encoded for one model."""

    model: Model
    offer: DeclaredTools = DeclaredTools()
    efforts: Efforts | None = None
    allow_empty_signature: bool = False


def encode_history(
    history: Sequence[Message], style: HistoryStyle, cache: Json | None = None
) -> list[Json]:
    """Return the request's ``messages``; ``cache`` marks the last user or tool message."""
    writer = _Writer(style)
    for message in history:
        writer.add(message)
    messages = writer.finish()
    if cache is not None:
        _mark_last_user_block(messages, cache)
    return messages


class _Writer:
    """Builds the messages.

    Later instructions may only stand between a user's turn and the response to it, so they wait for
    the end of the turn. A change of effort stands at the same place.
    """

    def __init__(self, style: HistoryStyle) -> None:
        self._style = style
        self._messages: list[Json] = []
        self._results: list[Json] | None = None
        self._waiting: list[SystemMessage] = []
        self._offered = {tool.name for tool in style.offer.tools}
        self._known = self._offered | {tool.name for tool in style.offer.later}
        self._effort = style.efforts.first if style.efforts else None

    def add(self, message: Message) -> None:
        """Append one message."""
        if isinstance(message, ToolResultMessage):
            self._add_result(message)
            return
        self._results = None
        match message:
            case SystemMessage():
                self._waiting.append(message)
            case UserMessage():
                self._append("user", _user_content(message))
            case AssistantMessage():
                self._end_turn(own_level(message, self._style.model))
                self._append("assistant", _assistant_blocks(message, self._style))

    def finish(self) -> list[Json]:
        """Return all messages."""
        self._end_turn(self._style.efforts.now if self._style.efforts else None)
        if self._waiting:  # no user message follows the last response, so none can hold it
            self._append("user", list(_instructions(self._waiting)))
        return self._messages

    def _append(self, role: str, content: str | list[Json]) -> None:
        if content:
            self._messages.append({"role": role, "content": content})

    def _add_result(self, message: ToolResultMessage) -> None:
        """Consecutive results are combined in one message."""
        if self._results is None:
            self._results = []
            self._messages.append({"role": "user", "content": self._results})
        self._results.append(_result(message))

    def _end_turn(self, effort: str | None) -> None:
        if self._waiting and self._messages and self._messages[-1]["role"] == "user":
            blocks = list(_instructions(self._waiting))
            if self._style.offer.in_place:
                for message in self._waiting:
                    blocks += changes(message, self._offered, self._known)
            self._append("system", blocks)
            self._waiting = []
        if effort is not None and self._effort not in (None, effort):
            self._effort = effort
            self._messages.append(
                {"role": "system", "content": [], "output_config": {"effort": effort}}
            )


def _mark_last_user_block(messages: list[Json], cache: Json) -> None:
    for message in reversed(messages):
        if message["role"] == "user":
            if isinstance(message["content"], str):
                message["content"] = [_text(message["content"])]
            message["content"][-1]["cache_control"] = cache
            return


def _instructions(messages: Sequence[SystemMessage]) -> Iterator[Json]:
    for message in messages:
        if text := render_update(message):
            yield _text(text)


def _user_content(message: UserMessage) -> str | list[Json]:
    """Return the content without blank texts, which are rejected; may be empty."""
    if isinstance(message.content, str):
        return message.content if message.content.strip() else ""
    return list(_content_blocks(message.content))


def _result(message: ToolResultMessage) -> Json:
    blocks = list(_content_blocks(message.content))
    content: str | list[Json] = blocks
    if all(block["type"] == "text" for block in blocks):
        content = "\n".join(block["text"] for block in blocks)
    if not content and message.is_error:
        content = NO_OUTPUT  # an error without text is rejected
    return {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": content,
        "is_error": message.is_error,
    }


def _content_blocks(blocks: Sequence[Text | Image]) -> Iterator[Json]:
    for block in blocks:
        match block:
            case Text() if block.text.strip():
                yield _text(block.text)
            case Image():
                source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
                yield {"type": "image", "source": source}


def _assistant_blocks(message: AssistantMessage, style: HistoryStyle) -> list[Json]:
    blocks = [
        encoded
        for block in message.content
        if (encoded := _assistant_block(block, style)) is not None
    ]
    if not blocks:
        return []
    if blocks[-1]["type"] != "tool_use":  # nothing may stand between a call and its result
        blocks.sort(key=lambda block: block["type"] == "tool_use")
    if blocks[-1]["type"] == "text":
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()  # trailing white space is rejected
    return blocks


def _assistant_block(block: Text | Thinking | ToolCall, style: HistoryStyle) -> Json | None:
    match block:
        case Text():
            return _text(block.text) if block.text.strip() else None
        case Thinking():
            return _thinking(block, style)
        case ToolCall():
            return {
                "type": "tool_use",
                "id": block.id,
                "name": block.name,
                "input": block.arguments,
            }


def _thinking(block: Thinking, style: HistoryStyle) -> Json | None:
    """Return a thinking block unchanged; an unsigned one becomes plain text."""
    signature = block.thinking_signature
    if signature and block.redacted is True:
        return {"type": "redacted_thinking", "data": signature}
    if signature:
        return {"type": "thinking", "thinking": block.thinking, "signature": signature}
    if block.redacted is True or not block.thinking.strip():
        return None
    if style.allow_empty_signature:
        return {"type": "thinking", "thinking": block.thinking, "signature": ""}
    return _text(block.thinking)


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


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
    history = prepare(trusted, call.model, plain_id)
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
        "messages": encode_history(history, style, cache),
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


# Repairs of rejected requests ---------------------------------------------------------------------
#
# The server sends only ``invalid_request_error`` and a sentence, so the sentence decides; each
# repair also needs its cause in the payload.


_SIGNATURE = r"(?is)signature.*thinking|thinking.*signature|thinking.*blocks.*cannot be modified"
_STRICT = r"(?i)strict|schema|grammar"
_TOOL = r"tools\.(\d+)\.(?:custom\.)?input_schema"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Return the repair for ``refusal``."""
    message = refusal.message
    if re.search(_SIGNATURE, message) and _has_thoughts(payload):
        return Repairs(thinking=True)
    tools = payload.get("tools", [])
    if re.search(_STRICT, message) and any(tool.get("strict") for tool in tools):
        return Repairs(strict=True)
    refused = _refused_tool(message, tools)
    return Repairs(tools=frozenset({refused})) if refused else None


def _refused_tool(message: str, tools: list[Json]) -> str:
    """Return the name of the tool whose schema the sentence is about."""
    match = re.search(_TOOL, message)
    return str(tools[int(match[1])]["name"]) if match and int(match[1]) < len(tools) else ""


def _has_thoughts(payload: Json) -> bool:
    return any(
        isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
        for message in payload.get("messages", [])
        for block in message.get("content", [])
    )
