"""Encodes a prepared conversation as the request's input items. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pi.ai.json_text import json_text
from pi.ai.kept import Conversions, KeptConversions, conversions
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
    blocks,
)
from pi.ai.models.model import Model
from pi.ai.transcript import render_update
from pi.ai.wire.openai_responses.identifiers import item_id
from pi.ai.wire.openai_responses.tools import ResponsesTools
from pi.ai.wire_support.handoff import NO_OUTPUT, own_level
from pi.base.records import UNREADABLE

_REPLAYED = frozenset({"reasoning", "compaction", "compaction_summary"})
"""Types of items that are sent back as they came: thinking, and the server's own compactions."""
_OUTPUT_ONLY = frozenset({"status", "action", "format"})
"""Fields that the server sends and does not accept back."""


def input_items(
    messages: Iterable[Message],
    toolbox: ResponsesTools,
    *,
    system_role: str,
    model: Model | None = None,
    kept: KeptConversions | None = None,
) -> list[Json]:
    """Return the items for ``messages``, prepared by ``pi.ai.wire_support.handoff.prepare``.

    With ``model``, its answers follow the effort with which it wrote them.
    """
    encoder = _Encoder(toolbox, system_role, conversions(kept, "items"))
    items: list[Json] = []
    for index, message in enumerate(messages):
        if model is not None and (level := own_level(message, model)) is not None:
            items.append(effort_item(level))
        items += encoder.encode(message, index)
    return items


def effort_item(level: str) -> Json:
    """Return the item that sets the effort of what follows."""
    return {"type": "configuration_update", "reasoning": {"effort": level}}


class _Encoder:
    """Encodes messages; remembers ids that later items refer to."""

    def __init__(self, toolbox: ResponsesTools, system_role: str, pieces: Conversions) -> None:
        self._toolbox = toolbox
        self._pieces = pieces
        self._system_role = system_role
        self._late = dict(toolbox.late)
        self._text_calls: set[str] = set()
        self._item_ids: set[str] = set()

    def encode(self, message: Message, index: int) -> Iterator[Json]:
        """Return the items of the message at ``index``."""
        match message:
            case SystemMessage():
                yield from self._instructions(message)
            case UserMessage():
                if content := self._pieces.of(message, _user_parts):
                    yield {"role": "user", "content": content}
            case AssistantMessage():
                yield from self._encode_answer(message, index)
            case ToolResultMessage():
                yield self._result(message)

    def _instructions(self, message: SystemMessage) -> Iterator[Json]:
        if text := render_update(message):
            yield {"role": self._system_role, "content": text}
        added = [self._late.pop(tool.name, None) for tool in message.tools_added or ()]
        if tools := [tool for tool in added if tool is not None]:
            yield {"type": "additional_tools", "role": "developer", "tools": tools}

    def _encode_answer(self, message: AssistantMessage, index: int) -> list[Json]:
        items: list[Json] = []
        texts = 0
        for block, read in zip(message.content, self._pieces.of(message, _read), strict=True):
            match block:
                case Thinking():
                    items += self._reasoning(block, read)
                case Text(text="") if not block.text_signature:
                    continue
                case Text():
                    own_id = f"msg_pi_{index}_{texts}" if texts else f"msg_pi_{index}"
                    items.append(self._text(block, own_id, read))
                    texts += 1
                case ToolCall():
                    items.append(self._call(block, read))
        while items and items[-1]["type"] == "reasoning":
            items.pop()  # the server rejects thinking without what follows it
        return items

    def _reasoning(self, block: Thinking, item: Json) -> Iterator[Json]:
        identifier = item.get("id")
        if item.get("type") not in _REPLAYED or identifier in self._item_ids:
            return
        if not (block.thinking or any(map(item.get, ("summary", "content", "encrypted_content")))):
            return
        if isinstance(identifier, str):
            self._item_ids.add(identifier)
        yield {
            name: value
            for name, value in item.items()
            if name not in _OUTPUT_ONLY and value is not None
        }

    def _text(self, block: Text, own_id: str, mark: Json) -> Json:
        stored = mark.get("id")
        identifier = item_id(stored, "msg") if isinstance(stored, str) and stored else own_id
        if identifier in self._item_ids:
            identifier = own_id
        self._item_ids.add(identifier)
        item: Json = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": block.text, "annotations": []}],
            "status": "completed",
            "id": identifier,
        }
        if phase := mark.get("phase"):
            item["phase"] = phase
        return item

    def _call(self, block: ToolCall, encoded: Json) -> Json:
        call, _, stored = block.id.partition("|")
        text = block.arguments.get(self._toolbox.text_arguments.get(block.name, ""))
        if isinstance(text, str):
            self._text_calls.add(call)
            kind, prefix, body = "custom_tool_call", "ctc", {"input": text}
        else:
            kind, prefix, body = "function_call", "fc", encoded
        item: Json = {"type": kind}
        if stored:
            item["id"] = item_id(stored, prefix)
        item |= {"call_id": call, "name": block.name, **body}
        if block.namespace:
            item["namespace"] = block.namespace
        return item

    def _result(self, message: ToolResultMessage) -> Json:
        call = message.tool_call_id.partition("|")[0]
        kind = "custom_tool_call" if call in self._text_calls else "function_call"
        return {
            "type": f"{kind}_output",
            "call_id": call,
            "output": self._pieces.of(message, _output),
        }


def _read(message: AssistantMessage) -> list[Json]:
    """Return the JSON in the blocks of an answer: signatures, and the arguments of calls."""
    return [
        _signature(block.thinking_signature)
        if isinstance(block, Thinking)
        else _signature(block.text_signature)
        if isinstance(block, Text)
        else {"arguments": json_text(block.arguments)}
        for block in message.content
    ]


def _user_parts(message: UserMessage) -> list[Json]:
    return _parts(message.content)


def _parts(content: str | tuple[Text | Image, ...]) -> list[Json]:
    """Return pictures and text, without empty text, which the server rejects."""
    parts: list[Json] = []
    for block in blocks(content):
        match block:
            case Image():
                image = {"type": "input_image", "detail": "auto", "image_url": block.data_url}
                parts.append(image)
            case Text() if block.text:
                parts.append({"type": "input_text", "text": block.text})
    return parts


def _output(message: ToolResultMessage) -> str | list[Json]:
    if any(isinstance(block, Image) for block in message.content):
        return _parts(message.content)
    return text if (text := message.text).strip() else NO_OUTPUT


def _signature(text: object) -> Json:
    """Return the JSON object of a block's signature; old sessions have a bare id."""
    if not isinstance(text, str) or not text:
        return {}
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE:
        return {"id": text}
    return value if isinstance(value, dict) else {}
