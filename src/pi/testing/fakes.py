"""A clock that stands still until the test moves it."""

from __future__ import annotations

import asyncio
import heapq
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, cast

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.providers.faux import FauxProvider, Step
from pi.ai.request import Call, StreamOptions
from pi.ai.stream import EventStream, Flush
from pi.ai.transcript import conversation

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


TURNS_PER_STEP = 20
"""How often the event loop runs between two sleepers, so that what one wakes can go on."""


class FakeClock:
    """Implements ``pi.base.clock.Clock``; time passes only in ``advance``."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now_ms(self) -> int:
        """Milliseconds since 1970, as far as the test has moved the clock."""
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds by which the test has moved the clock."""
        return self._elapsed

    @property
    def sleeping(self) -> int:
        """How many tasks wait for time to pass."""
        return sum(not waiting.done() for _, _, waiting in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the clock by ``seconds``."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), waiting))
        await waiting

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass: whoever is due wakes in order, and may sleep again meanwhile."""
        end = self._elapsed + seconds
        await self._let_tasks_run()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, waiting = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not waiting.done():
                waiting.set_result(None)
                await self._let_tasks_run()
        self._elapsed = end

    async def _let_tasks_run(self) -> None:
        for _ in range(TURNS_PER_STEP):
            await asyncio.sleep(0)


# A script in place of a model, for an agent that is tested or shown without a network.


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
