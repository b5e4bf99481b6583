"""Keeps the provider's prompt cache warm while a tool or the user takes time.

Applies only to models whose ``promptCache`` has the lifetime of the cache, and only if a refresh is
cheaper than filling the cache again. Extensions can override the decision.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from contextvars import Context as TaskContext
from itertools import count
from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.agent.events import AgentSettled, MessageEnd, TurnStart
from pi.ai.events import Start
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model, PromptCache
from pi.ai.models.prices import MILLION, rates_for
from pi.ai.request import StreamOptions
from pi.coding.extension_host.events.session import SessionShutdownEvent
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.models import ModelClient
from pi.coding.session.entries import UsageEntry

if TYPE_CHECKING:
    from pi.coding.extension_host.events.queries import CacheWarmingDecisionEvent

REFRESH_FRACTION = 0.9
"""Fraction of the cache's lifetime after which it is refreshed."""
RETURN_PROBABILITY = 0.5
"""Probability that an idle user continues before the refreshed cache expires."""

IDLE_SECONDS = 30 * 60.0
"""How long the cache is kept warm between runs."""
MIN_IDLE_SAVING = 0.05
"""Dollars that a refresh between runs is expected to save at least."""
CACHE_WARM = "cache_warm"
"""The kind of the entries in the session, as in the original."""


class CacheWarming:
    """Refreshes the cache after a wait in the background; each turn restarts the wait."""

    KINDS = (TurnStart, MessageEnd, AgentSettled)

    def __init__(self, core: LiveSession, client: ModelClient) -> None:
        self._core = core
        self._client = client
        self._waiting: asyncio.Task[None] | None = None
        self._spent: list[UsageEntry] = []
        """Usage of refreshes during a run; written to the log after the run."""
        core.bus.subscribe(SessionShutdownEvent, lambda _: self._stop())

    async def handle_event(self, event: object) -> None:
        """Handle an event of the agent."""
        match event:
            case TurnStart():
                self._stop()
            case MessageEnd(message=AssistantMessage() as answer):
                self._begin(answer)
            case AgentSettled():
                if self._core.workspace.settings.values.cache_warming != "idle":
                    self._stop()
                await self._log_spent()

    async def close(self) -> None:
        """Stop waiting."""
        waiting = self._waiting
        self._stop()
        if waiting is not None:
            await asyncio.wait({waiting})

    def _begin(self, answer: AssistantMessage) -> None:
        self._stop()
        long = self._core.machine.environ.get("PI_CACHE_RETENTION") == "long"
        seconds = lifetime(self._core.agent.model, long=long)
        enabled = self._core.workspace.settings.values.cache_warming != "off"
        if seconds is not None and enabled and self._core.remote is None:
            self._waiting = asyncio.get_running_loop().create_task(
                self._keep_warm(answer, seconds * REFRESH_FRACTION),
                name="cache warming",
                context=TaskContext(),  # not part of the run that it watches
            )

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _keep_warm(self, answer: AssistantMessage, seconds: float) -> None:
        usage = answer.usage
        tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
        idle = 0.0
        for times in count(1):
            await self._core.machine.clock.sleep(seconds)
            model = self._core.agent.model
            if self._core.agent.is_running:
                question = decision(model, tokens, 1.0)
            else:
                idle += seconds
                if idle > IDLE_SECONDS:
                    return
                probability = RETURN_PROBABILITY**times
                question = decision(model, tokens, probability, min_saving=MIN_IDLE_SAVING)
            if (await self._core.bus.query(question)).action == "stop":
                return
            await self._refresh()

    async def _refresh(self) -> None:
        """Send the next request, disconnect at the first token, and record the usage.

        The output limit is not lowered: a provider may use another cache for another limit.
        """
        request = self._core.agent.next_request()
        options = StreamOptions(reasoning=request.thinking, tool_choice=request.tool_choice)
        context = Context(messages=tuple(request.messages))
        request_stream = self._client.stream(request.model, context, options, purpose="warming")
        async with aclosing(request_stream) as stream:
            async for event in stream:
                if not isinstance(event, Start):
                    break
        answer = await stream.result()
        self._spent.append(
            UsageEntry(
                kind=CACHE_WARM,
                provider=request.model.provider,
                model=request.model.id,
                usage=answer.usage,
                note=answer.error_message if answer.stop_reason == "error" else UNSET,
            )
        )
        if not self._core.agent.is_running:
            await self._log_spent()

    async def _log_spent(self) -> None:
        spent, self._spent = self._spent, []
        for entry in spent:
            await self._core.add(entry)


def lifetime(model: Model, *, long: bool) -> int | None:
    """Return how many seconds a provider keeps the cache; ``None`` if it is unknown."""
    cache = model.prompt_cache
    if not isinstance(cache, PromptCache):
        return None
    seconds = cache.long if long else cache.short
    return seconds if isinstance(seconds, int) and seconds > 0 else None


def decision(
    model: Model, tokens: int, probability: float, *, min_saving: float = 0.0
) -> CacheWarmingDecisionEvent:
    """Return the decision to refresh ``tokens``, which are needed again with a probability.

    It has to save more than it costs, and at least ``min_saving`` dollars.
    """
    # Deferred: needed only when a cache is about to expire.
    from pi.coding.extension_host.events.queries import CacheWarmingDecisionEvent

    rates = rates_for(model.cost, tokens)
    warm = tokens * rates.cache_read / MILLION
    miss = tokens * max(rates.cache_write, rates.input) / MILLION
    return CacheWarmingDecisionEvent(
        warm_cost=warm,
        miss_cost=miss,
        continuation_probability=probability,
        action="warm" if warm < miss * probability - min_saving else "stop",
    )
