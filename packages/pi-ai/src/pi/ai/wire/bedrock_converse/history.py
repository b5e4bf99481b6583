"""Encodes the conversation as ``messages``. Pure."""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Sequence
from functools import partial

from pi.ai.kept import KeptConversions, conversions
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.models.model import Model
from pi.ai.wire.bedrock_converse.compat import ModelCompat
from pi.ai.wire_support.handoff import NO_OUTPUT, plain_id, prepare

NO_TEXT = "(no text)"
"""Replaces an empty user message: blank text is rejected."""

UNKNOWN_IMAGE = "(image omitted: Bedrock takes PNG, JPEG, GIF and WebP)"

_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def history_for(
    messages: Sequence[Message], model: Model, kept: KeptConversions | None = None
) -> tuple[Message, ...]:
    """Return ``messages`` adapted to ``model``."""
    return prepare(messages, model, plain_id, kept)


def encode_messages(
    history: Iterable[Message], traits: ModelCompat, kept: KeptConversions | None = None
) -> list[Json]:
    """Return the ``messages`` of a request; the results of one batch of calls share a message."""
    pieces = conversions(kept, "converse", traits)
    encoded: list[Json] = []
    results: list[Json] = []
    for message in history:
        if isinstance(message, ToolResultMessage):
            results.append(pieces.of(message, _tool_result))
            continue
        encoded += _message("user", results)
        results = []
        if isinstance(message, AssistantMessage):
            convert = partial(_answer_blocks, traits=traits)
            encoded += _message("assistant", pieces.of(message, convert))
        elif isinstance(message, UserMessage):
            encoded += _message("user", pieces.of(message, _user_blocks))
    return encoded + _message("user", results)


def _message(role: str, content: list[Json]) -> list[Json]:
    """Return one message, or none: an empty one is rejected."""
    return [{"role": role, "content": content}] if content else []


def _answer_blocks(message: AssistantMessage, traits: ModelCompat) -> list[Json]:
    return [block for part in message.content for block in _assistant_blocks(part, traits)]


def _user_blocks(message: UserMessage) -> list[Json]:
    return _contents(blocks(message.content), NO_TEXT)


def _assistant_blocks(block: Text | Thinking | ToolCall, traits: ModelCompat) -> list[Json]:
    match block:
        case Text():
            return _text(block.text)
        case Thinking():
            return _thought(block, traits)
        case ToolCall():
            call = {"toolUseId": block.id, "name": block.name, "input": block.arguments}
            return [{"toolUse": call}]


def _thought(block: Thinking, traits: ModelCompat) -> list[Json]:
    signature = block.thinking_signature or ""
    if traits.thoughts == "never":
        return []
    if block.redacted is True:
        secret = _decoded(signature)
        return [{"reasoningContent": {"redactedContent": secret}}] if secret else []
    if signature:
        signed = {"text": block.thinking, "signature": signature}
        return [{"reasoningContent": {"reasoningText": signed}}]
    if traits.thoughts == "signed" or not block.thinking.strip():
        return _text(block.thinking)
    return [{"reasoningContent": {"reasoningText": {"text": block.thinking}}}]


def _tool_result(message: ToolResultMessage) -> Json:
    return {
        "toolResult": {
            "toolUseId": message.tool_call_id,
            "content": _contents(message.content, NO_OUTPUT),
            "status": "error" if message.is_error else "success",
        }
    }


def _contents(parts: Iterable[Text | Image], otherwise: str) -> list[Json]:
    content: list[Json] = []
    for part in parts:
        content += _image(part) if isinstance(part, Image) else _text(part.text)
    return content or _text(otherwise)


def _text(text: str) -> list[Json]:
    return [{"text": text}] if text.strip() else []


def _image(image: Image) -> list[Json]:
    kind, data = _FORMATS.get(image.mime_type.lower()), _decoded(image.data)
    if kind is None or not data:
        return _text(UNKNOWN_IMAGE)
    return [{"image": {"source": {"bytes": data}, "format": kind}}]


def _decoded(base64: str) -> bytes:
    """Return the bytes of ``base64``, or none if it is invalid."""
    try:
        return binascii.a2b_base64(base64)
    except (binascii.Error, ValueError):
        return b""
