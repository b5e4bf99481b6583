"""A client's request in the terms of pi, and helpers to decode requests and encode responses.

All is pure, and independent of the model that answers and of its wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType, field

from pi.ai.errors import BadRequest
from pi.ai.events import StreamEvent
from pi.ai.json_text import json_bytes
from pi.ai.messages import AssistantMessage, Image, Json, Message, Text, Thinking, Tool, ToolCall
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import THINKING_LEVELS, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.base.records import UNREADABLE, Record, replace

ContentBlock: TypeAlias = Text | Thinking | ToolCall

_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)


class ServedRequest(Record):
    """A request of a client: the model it names, the conversation, the options."""

    model: str
    messages: tuple[Message, ...]
    """Prompt and tools are in system messages, as in a session."""
    options: StreamOptions = StreamOptions()
    stream: bool = False
    """Whether the client requests events; otherwise it gets one JSON object."""
    include_usage: bool = True
    """Whether the client requests the token counts of a stream."""
    unused: tuple[str, ...] = field(default=())
    """Fields of the request that have no meaning here."""


class EventEncoder(Protocol):
    """Encodes the events of one response for a client."""

    def encode(self, event: StreamEvent, block: ContentBlock | None = None) -> bytes:
        """Return the bytes for ``event``; ``block`` is the one that ends, with its signature."""
        ...

    def whole(self, message: AssistantMessage) -> Json:
        """Return the complete response, for a client that requests no events."""
        ...


def messages_for(request: ServedRequest, api: str, target: Model) -> tuple[Message, ...]:
    """Return the conversation for the model that answers under the requested name.

    Responses that the client received from us count as the target's own, so that signed thinking
    stays valid.
    """
    return tuple(
        replace(message, api=target.api, provider=target.provider, model=target.id)
        if isinstance(message, AssistantMessage)
        and (message.api, message.model) == (api, request.model)
        else message
        for message in request.messages
    )


# Decoding requests --------------------------------------------------------------------------------


def read_object(body: bytes) -> Json:
    """Return the body of a request; raises ``BadRequest`` if it is not a JSON object."""
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE as error:
        raise bad_request(f"The request cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise bad_request("The request is not a JSON object.")
    return value


def bad_request(message: str) -> BadRequest:
    """Return the error for a request that cannot be served."""
    return BadRequest(message, status=400)


def text_field(values: Json, name: str, subject: str = "request") -> str:
    """Return a required text."""
    value = values.get(name)
    if not isinstance(value, str):
        raise bad_request(f"The {subject} needs {name!r} as text.")
    return value


def objects(values: Any, name: str) -> list[Json]:
    """Return a list of objects; ``None`` is an empty one."""
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise bad_request(f"{name} must be a list of objects.")
    return values


def number(values: Json, *names: str) -> Any:
    """Return the first number with one of these names; ``None`` if there is none."""
    for name in names:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if value is not None:
            raise bad_request(f"{name!r} must be a number.")
    return None


def whole_number(values: Json, *names: str) -> int | None:
    """Return the first number with one of these names, without fraction."""
    value = number(values, *names)
    return None if value is None else int(value)


def sampling(values: Json, names: tuple[str, ...]) -> Json | None:
    """Return the parameters that are passed on unchanged."""
    parameters = {name: values[name] for name in names if values.get(name) is not None}
    return parameters or None


def level(effort: Any) -> ThinkingLevel:
    """Return the thinking level for an effort; ``none`` is off."""
    if effort in THINKING_LEVELS:
        return effort  # type: ignore[no-any-return]
    if effort in (None, "none"):
        return "off"
    raise bad_request(f"Unknown effort {effort!r}.")


def image_of(url: Any) -> Image:
    """Return the picture of a data URL; the server loads no others."""
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise bad_request("Images must be sent as base64 data URLs.")
    return Image(mime_type=match[1], data=match[2])


def declared_tool(values: Json, schema: str) -> Tool:
    """Return a function that the client declares; ``schema`` names the field of its parameters."""
    parameters = values.get(schema)
    return Tool(
        name=text_field(values, "name", "tool"),
        description=values.get("description") or "",
        parameters=parameters if isinstance(parameters, dict) else {"type": "object"},
    )


def call_names(messages: list[Message]) -> Mapping[str, str]:
    """Return the tools of all calls so far, by the id of the call."""
    return {
        call.id: call.name
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }


# Encoding events ----------------------------------------------------------------------------------


def sse(data: Json, name: str = "") -> bytes:
    """Return one server-sent event."""
    lead = f"event: {name}\n".encode() if name else b""
    return lead + b"data: " + json_bytes(data) + b"\n\n"


def signature_of(block: ContentBlock | None) -> str:
    """Return the signature of thinking; empty without one."""
    signature = block.thinking_signature if isinstance(block, Thinking) else UNSET
    return signature if isinstance(signature, str) else ""


def is_redacted(block: ContentBlock | None) -> bool:
    """Whether the text of a thinking block is hidden."""
    return isinstance(block, Thinking) and block.redacted is True


def or_unset(text: Any) -> str | UnsetType:
    """Return ``text`` if it is a string and not empty, else ``UNSET``."""
    return text if isinstance(text, str) and text else UNSET
