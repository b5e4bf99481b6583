"""Encodes the conversation as Converse's ``messages``, and its tools. Pure.

Bytes stay bytes here, as in the arguments of AWS's SDK; JSON has them as base64.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Sequence

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.models.model import Model
from pi.ai.request import ToolChoice, valid_tool_choice
from pi.ai.wire.bedrock_converse.compat import ModelCompat
from pi.ai.wire_support.handoff import NO_OUTPUT, plain_id, prepare
from pi.ai.wire_support.tool_schemas import CLAUDE, object_schema, strict_schemas

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


def history_for(messages: Sequence[Message], model: Model) -> tuple[Message, ...]:
    """Returns ``messages`` adapted to ``model``."""
    return prepare(messages, model, plain_id)


def encode_messages(history: Iterable[Message], traits: ModelCompat) -> list[Json]:
    """Returns the ``messages`` of a request; the results of one batch of calls share a message."""
    written: list[Json] = []
    results: list[Json] = []
    for message in history:
        if isinstance(message, ToolResultMessage):
            results.append(_tool_result(message))
            continue
        written += _message("user", results)
        results = []
        if isinstance(message, AssistantMessage):
            content = [block for part in message.content for block in _said(part, traits)]
            written += _message("assistant", content)
        elif isinstance(message, UserMessage):
            written += _message("user", _contents(blocks(message.content), NO_TEXT))
    return written + _message("user", results)


def _message(role: str, content: list[Json]) -> list[Json]:
    """Returns one message, or none: an empty one is rejected."""
    return [{"role": role, "content": content}] if content else []


def _said(block: Text | Thinking | ToolCall, traits: ModelCompat) -> list[Json]:
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
    """Returns the bytes of ``base64``, or none if it is invalid."""
    try:
        return binascii.a2b_base64(base64)
    except (binascii.Error, ValueError):
        return b""


# Tools as Converse's ``toolConfig``.


def tool_config(
    tools: Sequence[Tool],
    history: Iterable[Message],
    choice: ToolChoice | None,
    traits: ModelCompat,
    *,
    strict_refused: bool = False,
) -> Json | None:
    """Returns the ``toolConfig`` of a request, or ``None`` if it needs none.

    A conversation with calls is rejected without one, so removed tools that were called are
    declared by name. Converse cannot forbid calls: the tools are left out where possible.
    """
    called = dict.fromkeys(
        call.name
        for message in history
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )
    if choice == "none" and not called:
        return None
    strict = strict_schemas(tools, CLAUDE, supported=traits.strict_tools, refused=strict_refused)
    declared = [_declare(tool, strict.get(tool.name)) for tool in tools]
    declared = declared or [_declaration(name, "", {}) for name in called]
    if not declared:
        return None
    chosen = tool_choice(choice, tools)
    return {"tools": declared, "toolChoice": chosen} if chosen else {"tools": declared}


def tool_choice(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    """Returns the wire's form of ``choice``; Converse has no ``none``."""
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case "auto":
            return {"auto": {}}
        case {"type": "any"}:
            return {"any": {}}
        case {"name": name}:
            return {"tool": {"name": name}}
        case _:
            return None


def _declare(tool: Tool, strict: Json | None) -> Json:
    declared = _declaration(tool.name, tool.description, strict or tool.parameters)
    if strict:
        declared["toolSpec"]["strict"] = True
    return declared


def _declaration(name: str, description: str, schema: Json) -> Json:
    spec: Json = {"name": name}
    if description.strip():  # a blank one is rejected
        spec["description"] = description
    spec["inputSchema"] = {"json": object_schema(schema)}
    return {"toolSpec": spec}
