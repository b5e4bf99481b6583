"""Encodes the conversation as contents. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pi.ai.kept import Conversions, KeptConversions, conversions
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
from pi.ai.wire.google_generate.compat import Compat
from pi.ai.wire_support.handoff import IMAGES_FOLLOW, is_own, plain_id, prepare

UNSIGNED = "skip_thought_signature_validator"
"""Google's documented placeholder for the signature of a call that a Gemini did not make itself."""


def contents(
    messages: Sequence[Message],
    model: Model,
    traits: Compat,
    kept: KeptConversions | None = None,
) -> list[Json]:
    """Return ``messages`` adapted to ``model``; results of one batch share a content."""

    def make_id(identifier: str, author: AssistantMessage) -> str:
        return identifier if is_own(author, model) else plain_id(identifier, author)

    history = prepare(messages, model, make_id, kept)
    pieces = conversions(kept, "contents", traits)
    turn = _start_of_turn(history)
    encoded: list[Json] = []
    batch: list[ToolResultMessage] = []
    for index, message in enumerate(history):
        if isinstance(message, ToolResultMessage):
            batch.append(message)
            continue
        encoded += _results(batch, traits, pieces)
        batch = []
        if isinstance(message, AssistantMessage):
            sign = traits.checks_signatures and index > turn
            convert = partial(_assistant_parts, traits=traits, sign=sign)
            encoded += _content("model", pieces.of(message, convert, sign))
        elif isinstance(message, UserMessage):
            encoded += _content("user", pieces.of(message, _user_parts))
    return encoded + _results(batch, traits, pieces)


def _start_of_turn(history: Sequence[Message]) -> int:
    """Return the index of the last user message: signatures are checked only after it."""
    users = [index for index, message in enumerate(history) if isinstance(message, UserMessage)]
    return users[-1] if users else -1


def _content(role: str, parts: list[Json]) -> list[Json]:
    """Return one content, or none: Google rejects an empty one."""
    return [{"role": role, "parts": parts}] if parts else []


def _user_parts(message: UserMessage) -> list[Json]:
    return [
        _image(block) if isinstance(block, Image) else {"text": block.text}
        for block in blocks(message.content)
        if isinstance(block, Image) or block.text
    ]


def _assistant_parts(message: AssistantMessage, traits: Compat, *, sign: bool) -> list[Json]:
    parts: list[Json] = []
    for block in message.content:
        match block:
            case Text() if block.text or block.text_signature:
                parts.append({"text": block.text, **_signature(block.text_signature)})
            case Thinking() if block.thinking or block.thinking_signature:
                signature = _signature(block.thinking_signature)
                parts.append({"thought": True, "text": block.thinking, **signature})
            case ToolCall():
                call: Json = {"name": block.name, "args": block.arguments}
                if traits.call_ids:
                    call["id"] = block.id
                signature = _signature(block.thought_signature or (UNSIGNED if sign else ""))
                parts.append({"functionCall": call, **signature})
                sign = False  # of parallel calls only the first one is signed
            case _:
                pass  # an empty part is rejected
    return parts


def _signature(signature: object) -> Json:
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _results(batch: Sequence[ToolResultMessage], traits: Compat, pieces: Conversions) -> list[Json]:
    """Return the results of one batch, and after them the pictures that they cannot contain."""
    answers: list[Json] = []
    loose: list[Json] = []
    for result in batch:
        answer, images = pieces.of(result, partial(_result, traits=traits))
        answers.append(answer)
        loose += images
    note = [{"text": IMAGES_FOLLOW}] if loose else []
    return _content("user", answers) + _content("user", note + loose)


def _result(result: ToolResultMessage, traits: Compat) -> tuple[Json, list[Json]]:
    """Return a result, and the pictures that it cannot contain."""
    images = [_image(block) for block in result.content if isinstance(block, Image)]
    answer: Json = {
        "name": result.tool_name,
        "response": {"error" if result.is_error else "output": result.text},
    }
    if traits.call_ids:
        answer["id"] = result.tool_call_id
    if images and traits.images_in_results:
        answer["parts"] = images
        images = []
    return {"functionResponse": answer}, images


def _image(image: Image) -> Json:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}
