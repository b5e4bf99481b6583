"""The conversation as Mistral's ``messages``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pi.ai.handoff import NO_OUTPUT, is_own, prepare
from pi.ai.json_text import json_text
from pi.ai.later_instructions import told
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
from pi.ai.wire.mistral_conversations.ids import short_id


def encode_messages(messages: Sequence[Message], model: Model) -> list[Json]:
    """``messages`` for ``model``, whoever wrote them."""

    def make_id(identifier: str, author: AssistantMessage) -> str:
        return identifier if is_own(author, model) else short_id(identifier)

    history = prepare(messages, model, make_id)
    return [encoded for message in history if (encoded := _message(message)) is not None]


def _message(message: Message) -> Json | None:
    """One message, or nothing for one that says nothing."""
    match message:
        case SystemMessage():
            text = told(message)
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
    if content := [part for block in message.content for part in _said(block)]:
        answer["content"] = content
    if calls := [_call(call, index) for index, call in enumerate(message.tool_calls)]:
        answer["toolCalls"] = calls
    return answer if content or calls else None


def _said(block: Text | Thinking | ToolCall) -> list[Json]:
    match block:
        case Text() if block.text:
            return [_text(block.text)]
        case Thinking() if block.thinking or block.thinking_signature:
            thought: Json = {"type": "thinking", "thinking": [_text(block.thinking)]}
            if block.thinking_signature:
                thought["signature"] = block.thinking_signature
            return [thought]
        case _:
            return []  # calls stand beside the content, and empty parts are refused


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
