"""Server side of the proxy protocol: reads requests, writes responses.

Events are sent without the message so far, which grows with every token, and without the content of
earlier events; the client assembles the message again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from pi.ai.errors import BadRequest, RateLimited
from pi.ai.event_stream import EventStream
from pi.ai.events import Done, Failed, StreamEvent, TextEnd, ThinkingEnd
from pi.ai.json_text import json_bytes
from pi.ai.messages import AssistantMessage, Json, Message, Text, Thinking, ToolCall
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.wire.pi_messages.request import ProxyOptions, ProxyRequest
from pi.base.records import UNREADABLE, replace

PROXY_CONTENT_TYPE = "text/event-stream"
"""Content type of a response whose body comes from ``serve_proxy``."""

API = "pi-messages"


def read_proxy_request(body: bytes) -> ProxyRequest:
    """Decode the body of a request; raises ``BadRequest`` with the reason."""
    try:
        return msgspec.json.decode(body, type=ProxyRequest)
    except UNREADABLE as error:
        raise BadRequest(f"The request cannot be read: {error}", status=400) from error


def proxy_stream_options(options: ProxyOptions) -> StreamOptions:
    """Return the options of the client, for the server's own request."""
    return StreamOptions(
        **{name: getattr(options, name) for name in ProxyOptions.__struct_fields__}
    )


def proxy_messages(request: ProxyRequest, target: Model) -> tuple[Message, ...]:
    """Return the conversation for the model that answers under the requested name.

    Messages under that name count as the target's own, so that signed thinking stays valid.
    """
    return tuple(
        replace(message, api=target.api, provider=target.provider, model=target.id)
        if isinstance(message, AssistantMessage)
        and (message.api, message.model) == (API, request.model)
        else message
        for message in request.context.messages
    )


async def serve_proxy(stream: EventStream) -> AsyncGenerator[bytes, None]:
    """Yield the body of the response: ``stream`` as server-sent events, one piece per event.

    Closing it, as a server does when its client has gone, aborts the stream.
    """
    async with aclosing(stream):
        async for event in stream:
            block = None
            if isinstance(event, TextEnd | ThinkingEnd):  # only the message has the signature
                block = stream.partial.content[event.content_index]
            failure = stream.failure
            wait = failure.retry_after if isinstance(failure, RateLimited) else None
            yield encode_event(event, block=block, retry_after=wait)


def encode_event(
    event: StreamEvent,
    *,
    block: Text | Thinking | ToolCall | None = None,
    retry_after: float | None = None,
) -> bytes:
    """Return one server-sent event.

    ``block`` is the one that ends, for its signature; ``retry_after`` belongs to an error.
    """
    match event:
        case TextEnd() | ThinkingEnd():
            fields = _ending(event, block)
        case Done():
            fields = {"type": "done", "reason": event.reason, **_summary(event.message)}
        case Failed():
            fields = {"type": "error", "reason": event.reason, **_summary(event.error)}
            if retry_after is not None:
                fields["retryAfter"] = retry_after
        case _:
            fields = msgspec.to_builtins(event)
    return b"data: " + json_bytes(fields) + b"\n\n"


def _ending(event: TextEnd | ThinkingEnd, block: Text | Thinking | ToolCall | None) -> Json:
    fields: Json = {"type": event.__struct_config__.tag, "contentIndex": event.content_index}
    match block:
        case Text(text_signature=str(signature)) | Thinking(thinking_signature=str(signature)):
            fields["contentSignature"] = signature
    if isinstance(block, Thinking) and block.redacted is True:
        fields["redacted"] = True
    return fields


def _summary(message: AssistantMessage) -> Json:
    fields: Json = msgspec.to_builtins(message)
    names = ("usage", "responseId", "responseModel", "rawStopReason", "errorMessage")
    return {name: fields[name] for name in names if name in fields}
