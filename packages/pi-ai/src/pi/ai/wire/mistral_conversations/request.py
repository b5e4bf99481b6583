"""Encodes a call as Mistral's chat completion request. Pure.

``encode`` returns the arguments of Mistral's SDK, the form in which payloads are passed to hooks;
``rest_body`` turns them into the body of the REST API.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_text
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import level_word
from pi.ai.request import Call, ToolChoice, read_flags, valid_tool_choice
from pi.ai.transcript import fold, render_update
from pi.ai.wire_support.handoff import NO_OUTPUT, is_own, prepare
from pi.ai.wire_support.tool_schemas import NO_STRICT_TOOLS, refuse_loosening
from pi.base.records import Record

# Ids of tool calls: Mistral requires exactly nine letters and digits ------------------------------


LENGTH = 9

_VALID = r"[A-Za-z0-9]{9}"


def short_id(identifier: str) -> str:
    """Return ``identifier`` if it is valid, else a stable replacement."""
    if re.fullmatch(_VALID, identifier):
        return identifier
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:LENGTH]


# Messages -----------------------------------------------------------------------------------------


def encode_messages(messages: Sequence[Message], model: Model) -> list[Json]:
    """Return ``messages`` adapted to ``model``."""

    def make_id(identifier: str, author: AssistantMessage) -> str:
        return identifier if is_own(author, model) else short_id(identifier)

    history = prepare(messages, model, make_id)
    return [encoded for message in history if (encoded := _message(message)) is not None]


def _message(message: Message) -> Json | None:
    """Return one message, or none if it is empty."""
    match message:
        case SystemMessage():
            text = render_update(message)
            return {"role": "system", "content": text} if text else None
        case UserMessage():
            content = (
                message.content if isinstance(message.content, str) else _parts(message.content)
            )
            return {"role": "user", "content": content} if content else None
        case AssistantMessage():
            return _answer(message)
        case ToolResultMessage():
            return {
                "role": "tool",
                "toolCallId": message.tool_call_id,
                "name": message.tool_name,
                "content": _parts(message.content) or [_text(NO_OUTPUT)],
            }


def _answer(message: AssistantMessage) -> Json | None:
    answer: Json = {"role": "assistant", "prefix": False}
    if content := [part for block in message.content for part in _assistant_parts(block)]:
        answer["content"] = content
    if calls := [_call(call, index) for index, call in enumerate(message.tool_calls)]:
        answer["toolCalls"] = calls
    return answer if content or calls else None


def _assistant_parts(block: Text | Thinking | ToolCall) -> list[Json]:
    match block:
        case Text() if block.text:
            return [_text(block.text)]
        case Thinking() if block.thinking or block.thinking_signature:
            thought: Json = {"type": "thinking", "thinking": [_text(block.thinking)]}
            if block.thinking_signature:
                thought["signature"] = block.thinking_signature
            return [thought]
        case _:
            return []  # calls stand beside the content, and empty parts are rejected


def _call(call: ToolCall, index: int) -> Json:
    function = {"name": call.name, "arguments": json_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function, "index": index}


def _parts(blocks: Iterable[Text | Image]) -> list[Json]:
    return [
        _image(block) if isinstance(block, Image) else _text(block.text)
        for block in blocks
        if isinstance(block, Image) or block.text.strip()
    ]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(image: Image) -> Json:
    return {"type": "image_url", "imageUrl": image.data_url}


_CAPITAL = r"(?<=[a-z])([A-Z])"


class Compat(Record):
    """The flags of this wire."""

    supports_mid_convo_system_messages: bool = False


def encode(call: Call) -> Json:
    """Return the payload: the arguments of Mistral's SDK."""
    flags = read_flags(call.model, Compat)
    instructions, rest = fold(call.messages, keep_later=flags.supports_mid_convo_system_messages)
    messages = encode_messages(rest, call.model)
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
