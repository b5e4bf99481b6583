"""Encodes the conversation as ``messages``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.ai.kept import Beginning, KeptConversions, as_bytes, as_json
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
from pi.ai.wire.anthropic_messages.thinking import Efforts
from pi.ai.wire.anthropic_messages.tools import (
    DeclaredTools,
    changes,
)
from pi.ai.wire_support.handoff import NO_OUTPUT, last_answer, own_level
from pi.base.records import Record


class HistoryStyle(Record):
    """How a conversation is encoded for one model."""

    model: Model
    offer: DeclaredTools = DeclaredTools()
    efforts: Efforts | None = None
    allow_empty_signature: bool = False


def encode_history(
    history: Sequence[Message],
    style: HistoryStyle,
    cache: Json | None = None,
    kept: KeptConversions | None = None,
) -> list[Json]:
    """Return the request's ``messages``; ``cache`` marks the last user or tool message."""
    writer, start = _Writer(style), 0
    if kept is not None:
        first = style.efforts.first if style.efforts else None
        settings = (style.model, style.offer, first, style.allow_empty_signature)
        beginning = kept.beginning("messages", settings, history)
        if beginning is None:  # a single request would only pay for what it keeps
            kept.keep("messages", Beginning(settings, (), writer))
        else:
            writer, start = beginning.converted, beginning.length
            if (cut := last_answer(history, style.model)) > start:
                writer = writer.copy(style)
                for message in history[start:cut]:
                    writer.add(message)
                writer.freeze()
                start = cut
                kept.keep("messages", Beginning(settings, history[: cut + 1], writer))
        writer = writer.copy(style)
    for message in history[start:]:
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
        self._frozen = 0
        self._results: list[Json] | None = None
        self._waiting: list[SystemMessage] = []
        self._offered = {tool.name for tool in style.offer.tools}
        self._declared = self._offered | {tool.name for tool in style.offer.later}
        self._effort = style.efforts.first if style.efforts else None

    def copy(self, style: HistoryStyle) -> _Writer:
        """Return a copy for another request, before an answer."""
        other = _Writer(style)
        other._messages = self._messages.copy()
        other._waiting = self._waiting.copy()
        other._offered, other._declared = self._offered.copy(), self._declared.copy()
        other._effort, other._frozen = self._effort, self._frozen
        return other

    def freeze(self) -> None:
        """Turn messages into bytes; the last one may still be looked at."""
        end = max(len(self._messages) - 1, 0)
        self._messages[self._frozen : end] = map(as_bytes, self._messages[self._frozen : end])
        self._frozen = end

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
                    blocks += changes(message, self._offered, self._declared)
            self._append("system", blocks)
            self._waiting = []
        if effort is not None and self._effort not in (None, effort):
            self._effort = effort
            self._messages.append(
                {"role": "system", "content": [], "output_config": {"effort": effort}}
            )


def _mark_last_user_block(messages: list[Json], cache: Json) -> None:
    for index in range(len(messages) - 1, -1, -1):
        message = as_json(messages[index])
        if message["role"] == "user":
            content = message["content"]
            blocks = [_text(content)] if isinstance(content, str) else content
            marked = [*blocks[:-1], {**blocks[-1], "cache_control": cache}]
            messages[index] = {**message, "content": marked}
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
