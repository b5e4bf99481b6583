"""Scripted models for tests of programs that use ``pi.ai``, in place of a network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Reply, Step, call, calls, says, thinks
from pi.ai.providers.faux import FauxProvider as ScriptedProvider
from pi.ai.request import Call, StreamOptions
from pi.ai.transcript import conversation

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services

__all__ = [
    "FAUX_MODEL",
    "Reply",
    "ScriptedProvider",
    "ScriptedStream",
    "call",
    "calls",
    "says",
    "thinks",
]


class ScriptedStream:
    """A ``StreamFn`` that plays its steps in order, one per request, without a network.

    ``requests`` records the requests. It answers for any model; ``FAUX_MODEL`` is one to pass.
    """

    def __init__(self, *steps: Step) -> None:
        self._provider = ScriptedProvider(*steps)
        self.requests = self._provider.requests
        """The requests so far, in order."""
        self.add = self._provider.add
        """Appends steps to the script."""

    def __call__(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Return the stream for one request."""
        messages = conversation(context)
        call = Call(model=model, messages=messages, options=options or StreamOptions())
        return EventStream(MessageBuilder(model, now_ms=0), partial(self._answer, call))

    async def _answer(self, call: Call, builder: MessageBuilder, flush: Flush) -> None:
        await self._provider.answer(call, builder, flush, cast("Services", None))
