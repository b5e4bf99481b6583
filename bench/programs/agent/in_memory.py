"""A model in memory, whose answers are available at once."""

from __future__ import annotations

import asyncio

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Answer, EventStream, Flush
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions

MODEL = Model(id="memory", name="Memory", api="memory", provider="memory")
PER_FLUSH = 50
"""Deltas that arrive together: what a busy connection delivers with one read."""


def streaming(answer: Answer, model: Model = MODEL) -> EventStream:
    """The stream of one answer."""
    return EventStream(MessageBuilder(model, now_ms=0), answer)


def talkative(deltas: int) -> Answer:
    """An answer of ``deltas`` words."""

    async def answer(builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        for number in range(deltas):
            builder.text(0, "word ")
            if number % PER_FLUSH == PER_FLUSH - 1:
                flush()
                await asyncio.sleep(0)
        builder.finish("stop")

    return answer


class Calling:
    """A ``StreamFn`` that calls ``tool`` once per answer, ``times`` times, and then stops."""

    def __init__(self, tool: str, times: int) -> None:
        self.remaining = times
        self._tool = tool

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """The next answer."""
        return streaming(self._answer, model)

    async def _answer(self, builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        if self.remaining:
            builder.tool_call(0, f"call-{self.remaining}", self._tool)
            builder.arguments(0, '{"number": 1}')
            self.remaining -= 1
            builder.finish("toolUse")
        else:
            builder.text(0, "done")
            builder.finish("stop")
