"""Encodes the conversation as ``messages``. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from pi.ai.json_text import json_text
from pi.ai.kept import KeptConversions, conversions
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
from pi.ai.transcript import render_update
from pi.ai.wire_support.handoff import NO_OUTPUT, is_own, prepare

LENGTH = 9

_VALID = r"[A-Za-z0-9]{9}"


def short_id(identifier: str) -> str:
    """Return ``identifier`` if it is valid, else a stable replacement."""
    if re.fullmatch(_VALID, identifier):
        return identifier
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:LENGTH]


def encode_messages(
    messages: Sequence[Message], model: Model, kept: KeptConversions | None = None
) -> list[Json]:
    """Return ``messages`` adapted to ``model``."""

    def make_id(identifier: str, author: AssistantMessage) -> str:
        return identifier if is_own(author, model) else short_id(identifier)

    history = prepare(messages, model, make_id, kept)
    pieces = conversions(kept, "conversations")
    encoded = (pieces.of(message, _message) for message in history)
    return [message for message in encoded if message is not None]


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
            return _encode_answer(message)
        case ToolResultMessage():
            return {
                "role": "tool",
                "toolCallId": message.tool_call_id,
                "name": message.tool_name,
                "content": _parts(message.content) or [_text(NO_OUTPUT)],
            }


def _encode_answer(message: AssistantMessage) -> Json | None:
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
