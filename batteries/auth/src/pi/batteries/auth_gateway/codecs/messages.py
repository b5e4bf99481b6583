"""Server side of Anthropic Messages: decodes requests, encodes responses. Pure."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
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
    RemovedTool,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import CacheRetention, StreamOptions, ToolChoice
from pi.ai.wire.anthropic_messages.tools import PLACEHOLDER
from pi.batteries.auth_gateway.codecs.served import (
    ContentBlock,
    ServedRequest,
    bad_request,
    call_names,
    declared_tool,
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

API = "anthropic-messages"
CONTENT_TYPE = "text/event-stream"

_SAMPLING = ("top_p", "top_k", "stop_sequences")
_KNOWN = frozenset(
    {
        *_SAMPLING, "model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens",
        "temperature", "thinking", "output_config", "metadata", "cache_control",
    }
)  # fmt: skip
_REASONS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}
_BUDGETS: tuple[tuple[int, ThinkingLevel], ...] = (
    (2048, "minimal"),
    (6144, "low"),
    (12_288, "medium"),
)
"""The largest budget of each level; larger ones mean ``high``."""


# Requests -----------------------------------------------------------------------------------------


def decode_request(body: bytes) -> ServedRequest:
    """Decode the body of ``POST /v1/messages``; raises ``BadRequest`` with the reason."""
    values = read_object(body)
    model = text_field(values, "model")
    declared = {
        text_field(tool, "name", "tool"): (_tool(tool), tool.get("defer_loading") is True)
        for tool in objects(values.get("tools"), "tools")
        if tool.get("name") != PLACEHOLDER["name"]
    }
    offered = tuple(tool for tool, deferred in declared.values() if not deferred)
    messages: list[Message] = []
    prompt = _text(values.get("system"))
    if prompt or offered:
        messages.append(SystemMessage(content=prompt, tools_added=offered or UNSET))
    tools = {name: tool for name, (tool, _) in declared.items()}
    for turn in _turns(values):
        messages += _messages(turn, messages, model, tools)
    reasoning, budgets = _thinking(values)
    metadata = values.get("metadata")
    options = StreamOptions(
        reasoning=reasoning,
        thinking_budgets=budgets,
        max_tokens=whole_number(values, "max_tokens"),
        temperature=number(values, "temperature"),
        tool_choice=_tool_choice(values.get("tool_choice")),
        sampling_params=sampling(values, _SAMPLING),
        cache_retention=_cache_retention(values),
        metadata=metadata if isinstance(metadata, dict) else None,
    )
    return ServedRequest(
        model=model,
        messages=tuple(messages),
        options=options,
        stream=values.get("stream") is True,
        unused=tuple(sorted(values.keys() - _KNOWN)),
    )


def _turns(values: Json) -> list[Json]:
    return objects(values.get("messages"), "messages")


def _messages(
    values: Json, before: list[Message], model: str, tools: dict[str, Tool]
) -> list[Message]:
    content = values.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    parts = objects(parts, "content")
    match values.get("role"):
        case "user":
            results = [part for part in parts if part.get("type") == "tool_result"]
            others = [part for part in parts if part.get("type") != "tool_result"]
            names = call_names(before)
            messages: list[Message] = [_result(part, names.get) for part in results]
            if others or not results:
                text = content if isinstance(content, str) else tuple(map(_content, others))
                messages.append(UserMessage(content=text))
            return messages
        case "assistant":
            blocks = tuple(map(_block, parts))
            return [AssistantMessage(content=blocks, api=API, model=model)]
        case "system":
            return [_update(parts, tools)]
        case role:
            raise bad_request(f"Unknown role {role!r}.")


def _update(parts: list[Json], tools: dict[str, Tool]) -> SystemMessage:
    """Return instructions and tools that change in the middle of the conversation."""

    def named(kind: str) -> list[str]:
        references = (part.get("tool") for part in parts if part.get("type") == kind)
        return [
            text_field(reference, "name", "tool")
            for reference in references
            if isinstance(reference, dict)
        ]

    added = tuple(tools[name] for name in named("tool_addition") if name in tools)
    removed = tuple(RemovedTool(name=name) for name in named("tool_removal"))
    texts = [text_field(part, "text", "part") for part in parts if part.get("type") == "text"]
    return SystemMessage(
        content="\n\n".join(texts), tools_added=added or UNSET, tools_removed=removed or UNSET
    )


def _content(part: Json) -> Text | Image:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {
            "type": "image",
            "source": {"type": "base64", "media_type": str(kind), "data": str()},
        }:
            return Image(mime_type=kind, data=part["source"]["data"])
        case _:
            raise bad_request(f"Unsupported content of type {part.get('type')!r}.")


def _result(part: Json, name_of: Any) -> ToolResultMessage:
    identifier = text_field(part, "tool_use_id", "tool result")
    content = part.get("content")
    blocks: tuple[Text | Image, ...]
    if isinstance(content, str) or content is None:
        blocks = (Text(text=content),) if content else ()
    else:
        blocks = tuple(map(_content, objects(content, "content")))
    return ToolResultMessage(
        tool_call_id=identifier,
        tool_name=name_of(identifier) or "",
        content=blocks,
        is_error=part.get("is_error") is True,
    )


def _block(part: Json) -> ContentBlock:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "thinking", "thinking": str(text)}:
            return Thinking(thinking=text, thinking_signature=or_unset(part.get("signature")))
        case {"type": "redacted_thinking", "data": str(data)}:
            return Thinking(thinking="", thinking_signature=data, redacted=True)
        case {"type": "tool_use", "id": str(identifier), "name": str(name), "input": dict(input)}:
            return ToolCall(id=identifier, name=name, arguments=input)
        case _:
            raise bad_request(f"Unsupported content of type {part.get('type')!r}.")


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n\n".join(text_field(part, "text", "part") for part in objects(content, "system"))


def _tool(values: Json) -> Tool:
    if values.get("type", "custom") != "custom":
        raise bad_request(f"Unsupported tool of type {values['type']!r}.")
    return declared_tool(values, "input_schema")


def _tool_choice(choice: Any) -> ToolChoice | None:
    match choice:
        case None:
            return None
        case {"type": "auto" | "none" as word}:
            return word  # type: ignore[no-any-return]
        case {"type": "any"}:
            return {"type": "any"}
        case {"type": "tool", "name": str(name)}:
            return {"type": "tool", "name": name}
        case _:
            raise bad_request(f"Unknown tool_choice {choice!r}.")


def _thinking(values: Json) -> tuple[ThinkingLevel, dict[str, int] | None]:
    config = values.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    match values.get("thinking"):
        case {"type": "enabled", "budget_tokens": int(budget)}:
            thinking_level: ThinkingLevel = next(
                (word for most, word in _BUDGETS if budget <= most), "high"
            )
            return thinking_level, {thinking_level: budget}
        case {"type": "adaptive"}:
            return level(effort or "high"), None
        case _:
            return level(effort), None


def _cache_retention(values: Json) -> CacheRetention:
    """Return the longest cache retention that any cache mark of the request has."""
    marked = [values, *objects(values.get("tools"), "tools")]
    for content in (values.get("system"), *(m.get("content") for m in _turns(values))):
        marked += objects(content, "content") if isinstance(content, list) else []
    marks = [
        part["cache_control"] for part in marked if isinstance(part.get("cache_control"), dict)
    ]
    if not marks:
        return "none"
    return "long" if any(mark.get("ttl") == "1h" for mark in marks) else "short"


# Responses ----------------------------------------------------------------------------------------


class MessagesEncoder:
    """Encodes one response as events, or as one object."""

    def __init__(self, request: ServedRequest, *, response_id: str) -> None:
        self._head: Json = {
            "id": response_id,
            "type": "message",
            "role": "assistant",
            "model": request.model,
        }
        self._open: set[int] = set()
        """Thinking blocks whose start was sent: not before it is known whether they are hidden."""
        self._with_arguments: set[int] = set()

    def encode(self, event: StreamEvent, block: ContentBlock | None = None) -> bytes:
        """Return the bytes for ``event``."""
        match event:
            case Start() | Done() | Failed():
                return self._frame(event)
            case ThinkingStart() | ThinkingDelta() | ThinkingEnd():
                return self._thinking(event, block)
            case ToolCallStart() | ToolCallDelta() | ToolCallEnd():
                return self._call(event)
            case TextStart():
                return _started(event.content_index, {"type": "text", "text": ""})
            case TextDelta():
                return _grown(event.content_index, {"type": "text_delta", "text": event.delta})
            case _:
                return _event("content_block_stop", index=event.content_index)

    def whole(self, message: AssistantMessage) -> Json:
        """Return the complete response."""
        return {
            **self._head,
            "content": [_encoded_block(block) for block in message.content],
            "stop_reason": _REASONS.get(message.stop_reason, "end_turn"),
            "stop_sequence": None,
            "usage": _usage(message.usage),
        }

    def _thinking(
        self, event: ThinkingStart | ThinkingDelta | ThinkingEnd, block: ContentBlock | None
    ) -> bytes:
        index, data = event.content_index, b""
        if isinstance(event, ThinkingStart):
            return data
        if index not in self._open:
            self._open.add(index)
            hidden = {"type": "redacted_thinking", "data": signature_of(block)}
            visible = {"type": "thinking", "thinking": "", "signature": ""}
            data = _started(index, hidden if is_redacted(block) else visible)
        if isinstance(event, ThinkingDelta):
            return data + _grown(index, {"type": "thinking_delta", "thinking": event.delta})
        if (signature := signature_of(block)) and not is_redacted(block):
            data += _grown(index, {"type": "signature_delta", "signature": signature})
        return data + _event("content_block_stop", index=index)

    def _call(self, event: ToolCallStart | ToolCallDelta | ToolCallEnd) -> bytes:
        index = event.content_index
        if isinstance(event, ToolCallStart):
            call = {"type": "tool_use", "id": event.id, "name": event.tool_name, "input": {}}
            return _started(index, call)
        if isinstance(event, ToolCallDelta):
            self._with_arguments.add(index)
            return _grown(index, {"type": "input_json_delta", "partial_json": event.delta})
        data = b""
        if index not in self._with_arguments:
            text = json_text(event.tool_call.arguments)
            data = _grown(index, {"type": "input_json_delta", "partial_json": text})
        return data + _event("content_block_stop", index=index)

    def _frame(self, event: Start | Done | Failed) -> bytes:
        """Return the events around the content."""
        if isinstance(event, Start):
            empty: Json = {"content": [], "stop_reason": None, "stop_sequence": None}
            message = {**self._head, **empty, "usage": _usage(Usage())}
            return _event("message_start", message=message)
        if isinstance(event, Failed):
            reason = event.error.error_message or event.reason
            return _event("error", error={"type": "api_error", "message": reason})
        delta = {"stop_reason": _REASONS.get(event.reason, "end_turn"), "stop_sequence": None}
        ended = _event("message_delta", delta=delta, usage=_usage(event.message.usage))
        return ended + _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _started(index: int, block: Json) -> bytes:
    return _event("content_block_start", index=index, content_block=block)


def _grown(index: int, delta: Json) -> bytes:
    return _event("content_block_delta", index=index, delta=delta)


def _encoded_block(block: ContentBlock) -> Json:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking() if is_redacted(block):
            return {"type": "redacted_thinking", "data": signature_of(block)}
        case Thinking():
            signature = signature_of(block)
            return {"type": "thinking", "thinking": block.thinking, "signature": signature}
        case ToolCall():
            arguments = block.arguments
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments}


def _usage(usage: Usage) -> Json:
    counts: Json = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    }
    if usage.cache_write_1h is not UNSET:
        counts["cache_creation"] = {"ephemeral_1h_input_tokens": usage.cache_write_1h}
    if usage.reasoning is not UNSET:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return counts
