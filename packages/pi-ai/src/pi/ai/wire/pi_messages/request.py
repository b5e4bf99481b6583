"""Encodes a call as a request to a server that speaks pi's own events. Pure."""

from __future__ import annotations

import msgspec

from pi.ai.http.user_agent import user_agent
from pi.ai.json_text import json_bytes
from pi.ai.kept import conversions
from pi.ai.messages import Json, Message
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import CacheRetention, Call, ToolChoice
from pi.ai.wire_support.handoff import prepare, same_id
from pi.base.records import Record


class ProxyOptions(Record, omit_defaults=True):
    """Options that concern the model: a part of ``StreamOptions``."""

    reasoning: ThinkingLevel = "off"
    thinking_budgets: dict[str, int] | None = None
    tool_choice: ToolChoice | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    sampling_params: Json | None = None
    cache_retention: CacheRetention = "short"
    session_id: str | None = None
    metadata: Json | None = None


class ProxyTranscript(Record):
    """A conversation with its system messages, which hold prompt and tools."""

    messages: tuple[Message, ...]


class ProxyRequest(Record):
    """The body of a request."""

    model: str
    context: ProxyTranscript
    options: ProxyOptions = ProxyOptions()


def encode(call: Call) -> Json:
    """Return the payload: messages stay unchanged, and the server adapts them to its model."""
    names = ProxyOptions.__struct_fields__
    question = ProxyRequest(
        model=call.model.id,
        context=ProxyTranscript(messages=()),
        options=ProxyOptions(**{name: getattr(call.options, name) for name in names}),
    )
    payload = _plain(question)
    pieces = conversions(call.kept, "proxy")
    payload["context"]["messages"] = [
        pieces.of(message, _message)
        for message in prepare(call.messages, call.model, same_id, call.kept)
    ]
    return payload


def _message(message: Message) -> Json:
    encoded = _plain(message)
    for field in ("interrupt", "useless", "failure"):  # internal fields, not for models
        encoded.pop(field, None)
    return encoded


def _plain(record: Record) -> Json:
    # Over JSON, because a record's tuples must become lists, which hooks may change.
    value: Json = msgspec.json.decode(json_bytes(msgspec.to_builtins(record)))
    return value


def url(call: Call) -> str:
    """Return the URL of the stream."""
    return f"{call.base_url}/messages"


def headers(call: Call) -> dict[str, str]:
    """Return content type, accepted type, user agent, and the key."""
    named = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
        "User-Agent": user_agent(),
    }
    if call.access.api_key:
        named["Authorization"] = f"Bearer {call.access.api_key}"
    return named
