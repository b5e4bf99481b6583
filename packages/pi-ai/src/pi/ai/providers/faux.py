"""Scripted provider: deterministic, offline, public for tests.

>>> provider = FauxProvider(says("Hello."), calls("bash", command="ls"))
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.builder import CompleteReason, MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.event_stream import Flush
from pi.ai.json_text import json_text
from pi.ai.messages import Text, Thinking, ToolCall, Usage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Access, Call
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


FAUX = Provider(id="faux", name="Faux", needs_key=False, default_model="faux")
FAUX_MODEL = Model(
    id="faux",
    name="Faux",
    api="faux",
    provider="faux",
    reasoning=True,
    input=("text", "image"),
)

WORDS = r"\s*\S+\s*|\s+"


class Reply(Record):
    """One scripted response."""

    blocks: tuple[Text | Thinking | ToolCall, ...] = ()
    usage: Usage = Usage(input=10, output=5)
    stop_reason: CompleteReason | None = None
    """``None``: ``toolUse`` if there is a call, else ``stop``."""
    error: str = ""
    """The response fails with this provider error."""


Step: TypeAlias = Reply | ProviderError | Callable[[Call], "Reply | ProviderError"]
"""A response, a failure, or a function that returns one per request."""


def says(text: str, *more: Text | Thinking | ToolCall) -> Reply:
    """Return a response of plain text, with further blocks."""
    return Reply(blocks=(Text(text=text), *more))


def thinks(thought: str, *more: Text | Thinking | ToolCall) -> Reply:
    """Return a response that begins with thinking."""
    return Reply(blocks=(Thinking(thinking=thought), *more))


def calls(tool: str, /, **arguments: Any) -> Reply:
    """Return a response that calls one tool."""
    return Reply(blocks=(call(tool, **arguments),))


def call(tool: str, /, id: str = "", **arguments: Any) -> ToolCall:
    """Return a tool call for a response; an empty id is replaced when the step is played."""
    return ToolCall(id=id, name=tool, arguments=arguments)


class FauxProvider:
    """Plays its steps in order, one per request, word by word.

    ``requests`` records the calls. A single function as the only step is used for every request.
    """

    def __init__(
        self, *steps: Step, row: Provider = FAUX, models: tuple[Model, ...] = (FAUX_MODEL,)
    ) -> None:
        self.requests: list[Call] = []
        self._endless = steps[0] if len(steps) == 1 and callable(steps[0]) else None
        self._steps = list(steps)
        self._row = row
        self._models = models

    @property
    def row(self) -> Provider:
        """Its row in the provider table."""
        return self._row

    def models(self) -> tuple[Model, ...]:
        """Its models."""
        return self._models

    def add(self, *steps: Step) -> None:
        """Append to the script."""
        self._steps += steps

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Do nothing: the list is fixed."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Play the next step."""
        self.requests.append(call)
        reply = self._next(call)
        if isinstance(reply, ProviderError):
            raise reply
        builder.start()
        for key, block in enumerate(reply.blocks):
            await _play(key, block, builder, flush)
        builder.usage = reply.usage
        if reply.error:
            raise ProviderError(reply.error)
        asks = any(isinstance(block, ToolCall) for block in reply.blocks)
        builder.finish(reply.stop_reason or ("toolUse" if asks else "stop"))

    def _next(self, call: Call) -> Reply | ProviderError:
        if self._endless is None and not self._steps:
            return ProviderError("The script has no more answers.")
        step = self._endless or self._steps.pop(0)
        return step(call) if callable(step) else step


async def _play(
    key: int, block: Text | Thinking | ToolCall, builder: MessageBuilder, flush: Flush
) -> None:
    match block:
        case Text():
            for word in re.findall(WORDS, block.text):
                builder.text(key, word)
                flush()
                await asyncio.sleep(0)  # lets the consumer see, and interrupt, every word
        case Thinking():
            for word in re.findall(WORDS, block.thinking):
                builder.thinking(key, word)
                flush()
                await asyncio.sleep(0)
            builder.thinking(key, "").signature = block.thinking_signature
        case ToolCall():
            builder.tool_call(key, block.id, block.name)
            builder.arguments(key, json_text(block.arguments))
            flush()
            await asyncio.sleep(0)
    builder.end(key)
