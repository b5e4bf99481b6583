"""Approximate token counts of conversations. Pure.

Four characters make one token; 750 pixels of a picture make one, as Claude counts them.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import UNSET

from pi.ai.json_text import json_bytes
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
)
from pi.ai.models.model import Model
from pi.ai.transcript import plain_text

CHARACTERS_PER_TOKEN = 4

IMAGE_TOKENS = 1200
"""Tokens of a picture whose size cannot be read from its header."""

PIXELS_PER_TOKEN = 750

LARGEST_IMAGE_TOKENS = 4784
"""Maximum for one picture at any provider: they scale larger ones down."""

SMALLEST_IMAGE_TOKENS = 85
"""The flat part of OpenAI's count: a tiny picture is not free."""

_HEADER_CHARACTERS = (4_096, 131_072, 1_048_576)
"""Characters of base64 that are decoded to find the size: in a JPEG it may follow a preview."""

ROOM_FOR_ERROR = 4096
"""Tokens reserved because the count is approximate."""

SMALLEST_ANSWER = 1024

USUAL_ANSWER = 16_384
"""Output limit of a model whose limit is unknown."""


def conversation_tokens(messages: Sequence[Message]) -> int:
    """Return the provider's last count, plus an estimate of later messages.

    A count from before a compaction is outdated: a message before the response, the summary, is
    newer than the response then.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage) and (counted := counted_tokens(message)):
            newest = max(map(attrgetter("timestamp"), messages[:index]), default=0)
            if newest > message.timestamp:
                break
            return counted + estimated_tokens(messages[index + 1 :])
    return estimated_tokens(messages)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate for all messages, without the counts of a provider."""
    return sum(map(message_tokens, messages))


def message_tokens(message: Message) -> int:
    """Return an estimate for one message."""
    match message:
        case SystemMessage():
            parts = [plain_text(message)]
            if isinstance(message.sections, dict):
                parts += [section for section in message.sections.values() if section]
            tools = json_bytes(message.tools_added) if message.tools_added is not UNSET else b""
            return _tokens(sum(map(len, parts)) + len(tools))
        case AssistantMessage():
            return _tokens(sum(_length(block) for block in message.content))
        case _ if isinstance(message.content, str):
            return _tokens(len(message.content))
        case _:
            return _tokens(sum(_length(block) for block in message.content))


def largest_answer(model: Model, messages: Sequence[Message]) -> int:
    """Return the output to request: the model's limit, or the rest of its window if that
    is known."""
    limit = model.max_tokens if model.max_tokens > 0 else USUAL_ANSWER
    if model.context_window <= 0:
        return limit
    remaining = model.context_window - conversation_tokens(messages) - ROOM_FOR_ERROR
    return min(limit, max(remaining, SMALLEST_ANSWER))


def image_tokens(image: Image) -> int:
    """Return an estimate for one picture, from the pixel size in its header."""
    from pi.base.picture_sizes import picture_size  # lazy: few conversations have a picture

    for characters in _HEADER_CHARACTERS:
        try:
            size = picture_size(b64decode(image.data[:characters]))
        except (binascii.Error, ValueError):
            return IMAGE_TOKENS
        if size is not None:
            tokens = -(-size.width * size.height // PIXELS_PER_TOKEN)
            return min(max(tokens, SMALLEST_IMAGE_TOKENS), LARGEST_IMAGE_TOKENS)
        if len(image.data) <= characters:
            break
    return IMAGE_TOKENS


def counted_tokens(message: AssistantMessage) -> int:
    """Return the conversation size that the provider counted for this response; 0 if unknown."""
    if message.stop_reason in ("error", "aborted"):
        return 0
    usage = message.usage
    return usage.total_tokens or (usage.input + usage.output + usage.cache_read + usage.cache_write)


def _length(block: Text | Image | Thinking | ToolCall) -> int:
    match block:
        case Text():
            return len(block.text)
        case Image():
            return image_tokens(block) * CHARACTERS_PER_TOKEN
        case Thinking():
            signature = block.thinking_signature
            return len(block.thinking) + (len(signature) if isinstance(signature, str) else 0)
        case ToolCall():
            return len(block.name) + len(json_bytes(block.arguments))


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
