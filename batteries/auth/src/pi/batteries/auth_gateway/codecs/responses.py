"""Server side of Responses: decodes requests, encodes responses. Pure.

Stateless: a request with ``previous_response_id`` is refused, so that clients send the whole
conversation.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
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
    Usage,
    UserMessage,
)
from pi.ai.request import StreamOptions, ToolChoice
from pi.ai.tool_arguments import parse_arguments, parse_partial
from pi.base.records import UNREADABLE, replace
from pi.batteries.auth_gateway.codecs.served import (
    ContentBlock,
    ServedRequest,
    bad_request,
    call_names,
    declared_tool,
    image_of,
    is_redacted,
    level,
    number,
    objects,
    or_unset,
    read_object,
    sampling,
    signature_of,
    sse,
    text_field,
    whole_number,
)

API = "openai-responses"
CONTENT_TYPE = "text/event-stream"
OWN_ITEM = "msg_served_"
"""Prefix of the ids that are generated for texts without one."""

_SAMPLING = ("top_p",)
_KNOWN = frozenset(
    {
        *_SAMPLING, "model", "input", "instructions", "tools", "tool_choice", "stream", "store",
        "max_output_tokens", "temperature", "reasoning", "include", "prompt_cache_key", "user",
        "previous_response_id", "parallel_tool_calls",
    }
)  # fmt: skip


# Requests -----------------------------------------------------------------------------------------


def decode_request(body: bytes) -> ServedRequest:
    """Decode the body of ``POST /responses``; raises ``BadRequest`` with the reason."""
    values = read_object(body)
    if values.get("previous_response_id"):
        raise bad_request("Responses are not stored here: send the whole conversation.")
    model = text_field(values, "model")
    reader = _InputReader(model)
    if tools := tuple(_tool(tool) for tool in objects(values.get("tools"), "tools")):
        reader.messages.append(SystemMessage(content="", tools_added=tools))
    if isinstance(instructions := values.get("instructions"), str):
        reader.instruct(instructions)
    input = values.get("input")
    items = [{"role": "user", "content": input}] if isinstance(input, str) else input
    for item in objects(items, "input"):
        reader.add(item)
    reasoning = values.get("reasoning")
    user = values.get("user")
    options = StreamOptions(
        reasoning=level(reasoning.get("effort") if isinstance(reasoning, dict) else None),
        max_tokens=whole_number(values, "max_output_tokens"),
        temperature=number(values, "temperature"),
        tool_choice=_tool_choice(values.get("tool_choice")),
        sampling_params=sampling(values, _SAMPLING),
        session_id=values.get("prompt_cache_key") or None,
        metadata={"user_id": user} if isinstance(user, str) and user else None,
    )
    return ServedRequest(
        model=model,
        messages=tuple(reader.messages),
        options=options,
        stream=values.get("stream") is True,
        unused=tuple(sorted(values.keys() - _KNOWN)),
    )


class _InputReader:
    """Reads input items; the items of one response become one message."""

    def __init__(self, model: str) -> None:
        self.messages: list[Message] = []
        self._model = model

    def instruct(self, text: str) -> None:
        """Add instructions; the first ones go into the message with the tools."""
        first = self.messages[0] if len(self.messages) == 1 else None
        if isinstance(first, SystemMessage) and not first.content:
            self.messages[0] = replace(first, content=text)
        else:
            self.messages.append(SystemMessage(content=text))

    def add(self, item: Json) -> None:
        """Add one item."""
        match item.get("type", "message"):
            case "message":
                self._message(item)
            case "reasoning":
                self._answer(_thinking(item))
            case "function_call" | "custom_tool_call":
                self._answer(_call(item))
            case "function_call_output" | "custom_tool_call_output":
                self._result(item)
            case "additional_tools":
                added = tuple(_tool(tool) for tool in objects(item.get("tools"), "tools"))
                self.messages.append(SystemMessage(content="", tools_added=added))
            case kind:
                raise bad_request(f"Unsupported input item of type {kind!r}.")

    def _message(self, item: Json) -> None:
        content = item.get("content")
        match item.get("role"):
            case "system" | "developer":
                self.instruct(_joined(content))
            case "user":
                message_content = content if isinstance(content, str) else tuple(_parts(content))
                self.messages.append(UserMessage(content=message_content))
            case "assistant":
                self._answer(Text(text=_joined(content), text_signature=_text_signature(item)))
            case role:
                raise bad_request(f"Unknown role {role!r}.")

    def _answer(self, block: ContentBlock) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, AssistantMessage):
            self.messages[-1] = replace(last, content=(*last.content, block))
        else:
            self.messages.append(AssistantMessage(content=(block,), api=API, model=self._model))

    def _result(self, item: Json) -> None:
        identifier = text_field(item, "call_id", "result")
        self.messages.append(
            ToolResultMessage(
                tool_call_id=identifier,
                tool_name=call_names(self.messages).get(identifier, ""),
                content=tuple(_parts(item.get("output"))),
            )
        )


def _joined(content: Any) -> str:
    return "".join(block.text for block in _parts(content) if isinstance(block, Text))


def _parts(content: Any) -> list[Text | Image]:
    if isinstance(content, str):
        return [Text(text=content)]
    parts: list[Text | Image] = []
    for part in objects(content, "content"):
        match part:
            case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
                parts.append(Text(text=text))
            case {"type": "input_image", "image_url": str(url)}:
                parts.append(image_of(url))
            case {"type": "refusal", "refusal": str(text)}:
                parts.append(Text(text=text))
            case _:
                raise bad_request(f"Unsupported content of type {part.get('type')!r}.")
    return parts


def _text_signature(item: Json) -> str | UnsetType:
    """Return the id and phase of a text as its signature; unset if the id was generated."""
    identifier, phase = item.get("id"), item.get("phase")
    if not isinstance(identifier, str) or identifier.startswith((OWN_ITEM, "msg_pi_")):
        return UNSET
    return json_text({"v": 1, "id": identifier, **({"phase": phase} if phase else {})})


def _thinking(item: Json) -> Thinking:
    texts = [part.get("text") or "" for part in objects(item.get("summary"), "summary")]
    text = "\n\n".join(texts) or "".join(
        part.get("text") or "" for part in objects(item.get("content"), "content")
    )
    signature = or_unset(item.get("encrypted_content"))
    hidden = not texts and not text and isinstance(signature, str)
    return Thinking(thinking=text, thinking_signature=signature, redacted=hidden or UNSET)


def _call(item: Json) -> ToolCall:
    identifier, name = text_field(item, "call_id", "call"), text_field(item, "name", "call")
    if item["type"] == "custom_tool_call":
        arguments: Json = {"input": text_field(item, "input", "call")}
    else:
        text = text_field(item, "arguments", "call") or "{}"
        parsed = parse_arguments(text)
        arguments = parse_partial(text) if parsed is None else parsed
    namespace = or_unset(item.get("namespace"))
    return ToolCall(id=identifier, name=name, arguments=arguments, namespace=namespace)


def _tool(values: Json) -> Tool:
    if values.get("type") != "function":
        raise bad_request(f"Unsupported tool of type {values.get('type')!r}.")
    return declared_tool(values, "parameters")


def _tool_choice(choice: Any) -> ToolChoice | None:
    match choice:
        case None | "auto" | "none":
            return choice
        case "required":
            return {"type": "any"}
        case {"type": "function", "name": str(name)}:
            return {"type": "tool", "name": name}
        case _:
            raise bad_request(f"Unknown tool_choice {choice!r}.")


# Responses ----------------------------------------------------------------------------------------


class ResponsesEncoder:
    """Encodes one response as events, or as one object."""

    def __init__(self, request: ServedRequest, *, response_id: str, created: int) -> None:
        self._id = response_id
        self._head: Json = {
            "id": response_id,
            "object": "response",
            "created_at": created,
            "model": request.model,
        }
        self._sequence = 0
        self._with_arguments: set[int] = set()
        self._items: dict[int, Json] = {}
        """The items so far, by content index, for the summary at the end."""

    def encode(self, event: StreamEvent, block: ContentBlock | None = None) -> bytes:
        """Return the bytes for ``event``."""
        match event:
            case Start():
                response = {**self._head, "status": "in_progress", "output": []}
                created = self._event("response.created", response=response)
                return created + self._event("response.in_progress", response=response)
            case TextStart() | TextDelta() | TextEnd():
                return self._text(event, block)
            case ThinkingStart() | ThinkingDelta() | ThinkingEnd():
                return self._thinking(event, block)
            case ToolCallStart() | ToolCallDelta() | ToolCallEnd():
                return self._call(event)
            case Done():
                kind = "incomplete" if event.reason == "length" else "completed"
                response = self._response(event.message, list(self._items.values()))
                return self._event(f"response.{kind}", response=response)
            case Failed():
                error = {"code": "server_error", "message": event.error.error_message or ""}
                failed = {**self._head, "status": "failed", "error": error, "output": []}
                return self._event("response.failed", response=failed)

    def whole(self, message: AssistantMessage) -> Json:
        """Return the complete response."""
        items = [self._item(index, block) for index, block in enumerate(message.content)]
        return self._response(message, items)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = sse({"type": kind, "sequence_number": self._sequence, **fields}, kind)
        self._sequence += 1
        return data

    def _response(self, message: AssistantMessage, items: list[Json]) -> Json:
        cut = message.stop_reason == "length"
        return {
            **self._head,
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": items,
            "usage": _usage(message.usage),
        }

    def _item(self, index: int, block: ContentBlock) -> Json:
        match block:
            case Text():
                mark = _mark(block)
                part = {"type": "output_text", "text": block.text, "annotations": []}
                item = {
                    "type": "message",
                    "id": mark.get("id") or f"{OWN_ITEM}{self._id}_{index}",
                    "status": "completed",
                    "role": "assistant",
                    "content": [part],
                }
                return {**item, "phase": mark["phase"]} if "phase" in mark else item
            case Thinking():
                text = [] if is_redacted(block) else [_summary(block.thinking)]
                item = {"type": "reasoning", "id": f"rs_{self._id}_{index}", "summary": text}
                signature = signature_of(block)
                return {**item, "encrypted_content": signature} if signature else item
            case ToolCall():
                item = {
                    "type": "function_call",
                    "id": f"fc_{self._id}_{index}",
                    "call_id": block.id,
                    "name": block.name,
                    "arguments": json_text(block.arguments),
                    "status": "completed",
                }
                return {**item, "namespace": block.namespace} if block.namespace else item

    def _opened(self, index: int, block: ContentBlock, **changes: Any) -> bytes:
        item = {**self._item(index, block), "status": "in_progress", **changes}
        return self._event("response.output_item.added", output_index=index, item=item)

    def _item_done(self, index: int, block: ContentBlock) -> bytes:
        item = self._items[index] = self._item(index, block)
        return self._event("response.output_item.done", output_index=index, item=item)

    def _text(self, event: TextStart | TextDelta | TextEnd, block: ContentBlock | None) -> bytes:
        index = event.content_index
        item_fields = {"item_id": f"{OWN_ITEM}{self._id}_{index}", "output_index": index}
        item_fields["content_index"] = 0
        empty = {"type": "output_text", "text": "", "annotations": []}
        if isinstance(event, TextStart):
            data = self._opened(index, Text(text=""), content=[])
            return data + self._event("response.content_part.added", **item_fields, part=empty)
        if isinstance(event, TextDelta):
            return self._event("response.output_text.delta", **item_fields, delta=event.delta)
        final_block = block if isinstance(block, Text) else Text(text=event.content)
        part = {**empty, "text": event.content}
        data = self._event("response.output_text.done", **item_fields, text=event.content)
        data += self._event("response.content_part.done", **item_fields, part=part)
        return data + self._item_done(index, final_block)

    def _thinking(
        self, event: ThinkingStart | ThinkingDelta | ThinkingEnd, block: ContentBlock | None
    ) -> bytes:
        index = event.content_index
        item_fields = {
            "item_id": f"rs_{self._id}_{index}",
            "output_index": index,
            "summary_index": 0,
        }
        if isinstance(event, ThinkingStart):
            return self._opened(index, Thinking(thinking=""), summary=[])
        if isinstance(event, ThinkingDelta):
            return self._event(
                "response.reasoning_summary_text.delta", **item_fields, delta=event.delta
            )
        final_block = block if isinstance(block, Thinking) else Thinking(thinking=event.content)
        data = self._event(
            "response.reasoning_summary_text.done", **item_fields, text=event.content
        )
        return data + self._item_done(index, final_block)

    def _call(self, event: ToolCallStart | ToolCallDelta | ToolCallEnd) -> bytes:
        index = event.content_index
        item_fields = {"item_id": f"fc_{self._id}_{index}", "output_index": index}
        if isinstance(event, ToolCallStart):
            call = ToolCall(id=event.id, name=event.tool_name, arguments={})
            return self._opened(index, call, arguments="")
        if isinstance(event, ToolCallDelta):
            self._with_arguments.add(index)
            kind = "response.function_call_arguments.delta"
            return self._event(kind, **item_fields, delta=event.delta)
        text = json_text(event.tool_call.arguments)
        data = self._event("response.function_call_arguments.done", **item_fields, arguments=text)
        return data + self._item_done(index, event.tool_call)


def _summary(text: str) -> Json:
    return {"type": "summary_text", "text": text}


def _mark(block: Text) -> Json:
    """Return the id and phase that a text has from its own server."""
    signature = block.text_signature
    try:
        mark = msgspec.json.decode(signature) if isinstance(signature, str) else None
    except UNREADABLE:
        return {}
    return mark if isinstance(mark, dict) else {}


def _usage(usage: Usage) -> Json:
    input_tokens = usage.input + usage.cache_read + usage.cache_write
    details = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    counts: Json = {
        "input_tokens": input_tokens,
        "input_tokens_details": details,
        "output_tokens": usage.output,
        "total_tokens": input_tokens + usage.output,
    }
    if usage.reasoning is not UNSET:
        counts["output_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return counts
