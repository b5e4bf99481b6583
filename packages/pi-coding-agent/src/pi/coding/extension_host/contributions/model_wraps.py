"""Wraps around model calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import Literal, TypeAlias

from pi.ai import events
from pi.ai.builder import MessageBuilder, ThinkingBlock, ToolCallBlock
from pi.ai.errors import ProviderError
from pi.ai.event_stream import EventStream, Flush
from pi.ai.events import BlockEvent, StreamEvent
from pi.ai.messages import AssistantMessage, Message, Text, Thinking, ToolCall
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.records import Record

Purpose: TypeAlias = Literal["turn", "summary", "extension", "warming"]
"""The purpose of a request: a turn, a summary, an extension, or warming a provider's cache."""


class ModelRequest(Record):
    """One model request; a wrap can change it."""

    model: Model
    messages: tuple[Message, ...]
    """Including prompt and tools, as system messages."""
    options: StreamOptions = StreamOptions()
    purpose: Purpose = "turn"


SendRequest: TypeAlias = Callable[[ModelRequest], AsyncIterator[StreamEvent]]
"""Passes a request to the next wrap or to the model."""
ModelWrap: TypeAlias = Callable[[ModelRequest, SendRequest], AsyncIterator[StreamEvent]]
"""An async generator that yields the events of the answer."""


class Wrapped(Record):
    """A wrap with the purposes that it applies to."""

    wrap: ModelWrap
    purposes: frozenset[Purpose] | None = None

    def concerns(self, purpose: Purpose) -> bool:
        """Whether the wrap applies to requests of that purpose."""
        return self.purposes is None or purpose in self.purposes


def stream_through(
    wraps: list[ModelWrap], request: ModelRequest, ask: Callable[[ModelRequest], EventStream]
) -> EventStream:
    """Send ``request`` through all wraps; the first one is outermost."""
    return _Wrapping(wraps, request, ask).stream()


class _Wrapping:
    """One request passing through the wraps, and its answer passing back."""

    def __init__(
        self,
        wraps: list[ModelWrap],
        request: ModelRequest,
        ask: Callable[[ModelRequest], EventStream],
    ) -> None:
        self._wraps = wraps
        self._request = request
        self._ask = ask
        self._innermost: EventStream | None = None

    def stream(self) -> EventStream:
        # The timestamp is that of the inner answer.
        builder = MessageBuilder(self._request.model, now_ms=0)
        return EventStream(builder, self._answer)

    async def _answer(self, builder: MessageBuilder, flush: Flush) -> None:
        ask: SendRequest = partial(self._send, builder)
        for wrap in reversed(self._wraps):
            ask = partial(_call_wrap, wrap, ask)
        try:
            async with aclosing(ask(self._request)) as answer:  # type: ignore[type-var]
                async for event in answer:
                    self._fold(event, builder)
                    flush()
        except asyncio.CancelledError:
            if self._innermost is not None:
                await self._innermost.aclose()
            raise
        if builder.final is None:
            raise ProviderError(
                "A model wrap ended before the answer did.",
                hint="It must also yield the last event of the answer: Done or Failed.",
            )

    def _send(self, builder: MessageBuilder, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self._innermost = self._ask(request)
        builder.timestamp = self._innermost.partial.timestamp
        return self._innermost

    def _fold(self, event: StreamEvent, builder: MessageBuilder) -> None:
        match event:
            case events.Start():
                builder.start()
            case events.Done(reason=reason, message=message):
                _adopt(message, builder)
                builder.finish(reason)
            case events.Failed(reason="aborted"):
                builder.abort()
            case events.Failed(error=message):
                _adopt(message, builder)
                builder.fail(self._failure(message))
            case _:
                _grow(event, builder)

    def _failure(self, message: AssistantMessage) -> ProviderError:
        failure = self._innermost.failure if self._innermost is not None else None
        return failure or ProviderError(message.error_message or "The answer failed.")


def _grow(event: BlockEvent, builder: MessageBuilder) -> None:
    """Append to a block of the answer; blocks are identified by their index."""
    index = event.content_index
    match event:
        case events.TextStart():
            builder.text(index, "")
        case events.TextDelta(delta=delta):
            builder.text(index, delta)
        case events.ThinkingStart():
            builder.thinking(index, "")
        case events.ThinkingDelta(delta=delta):
            builder.thinking(index, delta)
        case events.ToolCallStart(id=id, tool_name=name):
            builder.tool_call(index, id, name)
        case events.ToolCallDelta(delta=delta):
            builder.arguments(index, delta)
        case events.ToolCallEnd(tool_call=call):
            builder.tool_call(index, call.id, call.name).arguments = call.arguments
            builder.end(index)
        case events.TextEnd() | events.ThinkingEnd():
            builder.end(index)


def _call_wrap(
    wrap: ModelWrap, ask: SendRequest, request: ModelRequest
) -> AsyncIterator[StreamEvent]:
    return wrap(request, ask)


def _adopt(message: AssistantMessage, builder: MessageBuilder) -> None:
    """Copy the fields that only the finished message has."""
    builder.usage = message.usage
    builder.charged = message.usage.cost.total
    builder.is_billed = message.usage.cost.total_from_provider is True
    builder.response_id = message.response_id
    builder.response_model = message.response_model
    builder.raw_stop_reason = message.raw_stop_reason
    builder.thinking_level = message.provider_thinking_level
    if isinstance(message.diagnostics, tuple):
        # One of them says that the arguments of a call are broken, so that it must not run.
        builder.diagnostics = list(message.diagnostics)
    for index, block in enumerate(message.content):
        match block, builder.find(index):
            case Text(), built if built is not None:
                built.signature = block.text_signature
            case Thinking(), ThinkingBlock() as built:
                built.signature = block.thinking_signature
                built.redacted = block.redacted is True
            case ToolCall(), ToolCallBlock() as built:
                built.thought_signature = block.thought_signature
                built.namespace = block.namespace
