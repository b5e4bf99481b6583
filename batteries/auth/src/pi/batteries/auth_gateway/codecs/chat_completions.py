"""Server side of Chat Completions: decodes requests, encodes responses. Pure.

Thinking is sent as ``reasoning_content`` and, so that its signature can be sent back, also as
``reasoning_details``, as OpenRouter does.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEnd,
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
from pi.ai.wire.openai_completions.history import REASONING_DETAILS, REASONING_FIELDS
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

API = "openai-completions"
CONTENT_TYPE = "text/event-stream"
LAST_EVENT = b"data: [DONE]\n\n"

_SAMPLING = (
    "top_p", "top_k", "min_p", "seed", "stop", "presence_penalty", "frequency_penalty",
    "logit_bias", "response_format",
)  # fmt: skip
_KNOWN = frozenset(
    {
        *_SAMPLING, "model", "messages", "tools", "tool_choice", "stream", "stream_options",
        "max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "user",
        "prompt_cache_key", "store", "n",
    }
)  # fmt: skip
_REASONS = {"stop": "stop", "length": "length", "toolUse": "tool_calls", "deferred": "stop"}


# Requests -----------------------------------------------------------------------------------------


def decode_request(body: bytes) -> ServedRequest:
    """Decode the body of ``POST /chat/completions``; raises ``BadRequest`` with the reason."""
    values = read_object(body)
    if whole_number(values, "n") not in (None, 1):
        raise bad_request("Only one choice is supported: n must be 1.")
    model = text_field(values, "model")
    messages: list[Message] = []
    tools = tuple(_tool(tool) for tool in objects(values.get("tools"), "tools"))
    for entry in objects(values.get("messages"), "messages"):
        messages.append(_message(entry, messages, model))
    user = values.get("user")
    options = StreamOptions(
        reasoning=level(values.get("reasoning_effort")),
        max_tokens=whole_number(values, "max_completion_tokens", "max_tokens"),
        temperature=number(values, "temperature"),
        tool_choice=_tool_choice(values.get("tool_choice")),
        sampling_params=sampling(values, _SAMPLING),
        session_id=values.get("prompt_cache_key") or None,
        metadata={"user_id": user} if isinstance(user, str) and user else None,
    )
    stream_options = values.get("stream_options")
    return ServedRequest(
        model=model,
        messages=_with_tools(messages, tools),
        options=options,
        stream=values.get("stream") is True,
        include_usage=isinstance(stream_options, dict)
        and stream_options.get("include_usage") is True,
        unused=tuple(sorted(values.keys() - _KNOWN)),
    )


def _with_tools(messages: list[Message], tools: tuple[Tool, ...]) -> tuple[Message, ...]:
    """Return the conversation with the tools in its first system message."""
    if not tools:
        return tuple(messages)
    if messages and isinstance(messages[0], SystemMessage):
        return SystemMessage(content=messages[0].content, tools_added=tools), *messages[1:]
    return SystemMessage(content="", tools_added=tools), *messages


def _message(values: Json, before: list[Message], model: str) -> Message:
    match values.get("role"):
        case "system" | "developer":
            if "tools" in values:  # tools that are added later, as Kimi declares them
                added = tuple(_tool(tool) for tool in objects(values["tools"], "tools"))
                return SystemMessage(content="", tools_added=added)
            return SystemMessage(content=_text(values.get("content")))
        case "user":
            return UserMessage(content=_user_content(values.get("content")))
        case "assistant":
            return AssistantMessage(
                content=tuple(_assistant_blocks(values)), api=API, model=model, stop_reason="stop"
            )
        case "tool":
            identifier = text_field(values, "tool_call_id", "tool message")
            return ToolResultMessage(
                tool_call_id=identifier,
                tool_name=call_names(before).get(identifier, ""),
                content=(Text(text=_text(values.get("content"))),),
            )
        case role:
            raise bad_request(f"Unknown role {role!r}.")


def _user_content(content: Any) -> str | tuple[Text | Image, ...]:
    if isinstance(content, str):
        return content
    parts: list[Text | Image] = []
    for part in objects(content, "content"):
        match part:
            case {"type": "text", "text": str(text)}:
                parts.append(Text(text=text))
            case {"type": "image_url", "image_url": {"url": url}}:
                parts.append(image_of(url))
            case _:
                raise bad_request(f"Unsupported content of type {part.get('type')!r}.")
    return tuple(parts)


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(text_field(part, "text", "part") for part in objects(content, "content"))


def _assistant_blocks(values: Json) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    details = objects(values.get(REASONING_DETAILS), REASONING_DETAILS)
    for detail in details:
        if detail.get("type") == "reasoning.encrypted":
            signature = or_unset(detail.get("data"))
            blocks.append(Thinking(thinking="", thinking_signature=signature, redacted=True))
        else:
            text = detail.get("text") or detail.get("summary") or ""
            signature = or_unset(detail.get("signature"))
            blocks.append(Thinking(thinking=text, thinking_signature=signature))
    thought = next((values[name] for name in REASONING_FIELDS if values.get(name)), "")
    if thought and isinstance(thought, str) and not details:
        blocks.append(Thinking(thinking=thought))
    if text := _text(values.get("content")):
        blocks.append(Text(text=text))
    blocks += [_call(call) for call in objects(values.get("tool_calls"), "tool_calls")]
    return blocks


def _call(values: Json) -> ToolCall:
    extra = values.get("extra_content")
    signature = json_text(extra) if isinstance(extra, dict) else UNSET
    identifier = text_field(values, "id", "tool call")
    match values:
        case {"custom": {"name": str(name), "input": str(text)}}:
            arguments: Json = {"input": text}
        case {"function": {"name": str(name), "arguments": str(text)}}:
            parsed = parse_arguments(text or "{}")
            arguments = parse_partial(text) if parsed is None else parsed
        case _:
            raise bad_request("A tool call needs a function with name and arguments.")
    return ToolCall(id=identifier, name=name, arguments=arguments, thought_signature=signature)


def _tool(values: Json) -> Tool:
    function = values.get("function")
    if values.get("type") != "function" or not isinstance(function, dict):
        raise bad_request(f"Unsupported tool of type {values.get('type')!r}.")
    return declared_tool(function, "parameters")


def _tool_choice(choice: Any) -> ToolChoice | None:
    match choice:
        case None | "auto" | "none":
            return choice
        case "required":
            return {"type": "any"}
        case {"function": {"name": str(name)}}:
            return {"type": "tool", "name": name}
        case _:
            raise bad_request(f"Unknown tool_choice {choice!r}.")


# Responses ----------------------------------------------------------------------------------------


class ChatEncoder:
    """Encodes one response as chunks, or as one object."""

    def __init__(self, request: ServedRequest, *, response_id: str, created: int) -> None:
        self._request = request
        self._head: Json = {"id": response_id, "created": created, "model": request.model}
        self._calls: dict[int, int] = {}
        """The index among the calls, by content index."""
        self._with_arguments: set[int] = set()

    def encode(self, event: StreamEvent, block: ContentBlock | None = None) -> bytes:
        """Return the bytes for ``event``."""
        match event:
            case Start():
                return self._chunk({"role": "assistant", "content": ""})
            case TextDelta():
                return self._chunk({"content": event.delta})
            case ThinkingDelta() | ThinkingEnd():
                return self._thinking(event, block)
            case ToolCallStart() | ToolCallDelta() | ToolCallEnd():
                return self._call(event)
            case Done() | Failed():
                return self._end(event)
            case _:
                return b""

    def whole(self, message: AssistantMessage) -> Json:
        """Return the complete response."""
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": _encoded_message(message),
                    "finish_reason": _REASONS.get(message.stop_reason, "stop"),
                    "logprobs": None,
                }
            ],
            "usage": _usage(message.usage),
        }

    def _chunk(self, delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**self._head, "object": "chat.completion.chunk", "choices": [choice]})

    def _thought(self, index: int, detail: Json, text: str = "") -> bytes:
        delta: Json = {REASONING_DETAILS: [{**detail, "index": index}]}
        return self._chunk({"reasoning_content": text, **delta} if text else delta)

    def _thinking(self, event: ThinkingDelta | ThinkingEnd, block: ContentBlock | None) -> bytes:
        index = event.content_index
        if isinstance(event, ThinkingDelta):
            detail = {"type": "reasoning.text", "text": event.delta}
            return self._thought(index, detail, event.delta)
        signature = signature_of(block)
        if is_redacted(block):
            return self._thought(index, {"type": "reasoning.encrypted", "data": signature})
        signed = {"type": "reasoning.text", "signature": signature}
        return self._thought(index, signed) if signature else b""

    def _call(self, event: ToolCallStart | ToolCallDelta | ToolCallEnd) -> bytes:
        content_index = event.content_index
        index = self._calls.setdefault(content_index, len(self._calls))
        if isinstance(event, ToolCallStart):
            function = {"name": event.tool_name, "arguments": ""}
            call: Json = {"index": index, "id": event.id, "type": "function", "function": function}
            return self._chunk({"tool_calls": [call]})
        if isinstance(event, ToolCallDelta):
            self._with_arguments.add(content_index)
            return self._chunk(
                {"tool_calls": [{"index": index, "function": {"arguments": event.delta}}]}
            )
        ended: Json = {}
        if content_index not in self._with_arguments:  # they came as an object, or there are none
            ended["function"] = {"arguments": json_text(event.tool_call.arguments)}
        if extra := _extra(event.tool_call):
            ended = {"function": {"name": event.tool_call.name}, **ended, **extra}
        return self._chunk({"tool_calls": [{"index": index, **ended}]}) if ended else b""

    def _end(self, event: Done | Failed) -> bytes:
        if isinstance(event, Failed):
            message = event.error.error_message or event.reason
            kind = "request_aborted" if event.reason == "aborted" else "upstream_error"
            return sse({"error": {"message": message, "type": kind}}) + LAST_EVENT
        data = self._chunk({}, _REASONS[event.reason])
        if self._request.include_usage:
            counts = {"choices": [], "usage": _usage(event.message.usage)}
            data += sse({**self._head, "object": "chat.completion.chunk", **counts})
        return data + LAST_EVENT


def _extra(call: ToolCall) -> Json:
    signature = call.thought_signature
    parsed = parse_arguments(signature) if isinstance(signature, str) else None
    return {"extra_content": parsed} if parsed else {}


def _encoded_message(message: AssistantMessage) -> Json:
    encoded: Json = {"role": "assistant", "content": message.text or None, "refusal": None}
    details: list[Json] = []
    for index, block in enumerate(message.content):
        if is_redacted(block):
            data = {"type": "reasoning.encrypted", "data": signature_of(block)}
            details.append({**data, "index": index})
        elif isinstance(block, Thinking):
            encoded["reasoning_content"] = encoded.get("reasoning_content", "") + block.thinking
            detail = {"type": "reasoning.text", "text": block.thinking, "index": index}
            signature = signature_of(block)
            details.append({**detail, "signature": signature} if signature else detail)
    if details:
        encoded[REASONING_DETAILS] = details
    if message.tool_calls:
        encoded["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json_text(call.arguments)},
                **_extra(call),
            }
            for call in message.tool_calls
        ]
    return encoded


def _usage(usage: Usage) -> Json:
    prompt = usage.input + usage.cache_read + usage.cache_write
    counts: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
    }
    if usage.reasoning is not UNSET:
        counts["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return counts
