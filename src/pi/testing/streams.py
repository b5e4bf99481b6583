"""A script in place of a model, for an agent that is tested or shown without a network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.providers.faux import FauxProvider, Step
from pi.ai.request import Call, StreamOptions
from pi.ai.stream import EventStream, Flush
from pi.ai.transcript import conversation

if TYPE_CHECKING:  # importing it would load the HTTP client, which a script never needs
    from pi.ai.exchange import Services


class ScriptedStream:
    """A ``StreamFn``: plays its steps in order, one per request.

    ``requests`` holds what was asked. It answers for any model; ``FAUX_MODEL`` is one to give.
    """

    def __init__(self, *steps: Step) -> None:
        self._provider = FauxProvider(*steps)

    @property
    def requests(self) -> list[Call]:
        """What was asked, in order."""
        return self._provider.requests

    def add(self, *steps: Step) -> None:
        """Append to the script."""
        self._provider.add(*steps)

    def __call__(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """The answer to one request."""
        messages = conversation(context)
        call = Call(model=model, messages=messages, options=options or StreamOptions())
        return EventStream(MessageBuilder(model, now_ms=0), partial(self._answer, call))

    async def _answer(self, call: Call, builder: MessageBuilder, flush: Flush) -> None:
        await self._provider.answer(call, builder, flush, cast("Services", None))
