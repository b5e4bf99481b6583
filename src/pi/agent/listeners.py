"""Everybody who wants to hear what a run tells."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pi.agent.events import AgentEvent, MessageUpdate

log = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
"""Sync or async; what it raises is reported and harms nobody else."""


class _Subscription:
    """A place in the row of listeners; empty once it has ended."""

    __slots__ = ("listener",)

    def __init__(self, listener: Listener) -> None:
        self.listener: Listener | None = listener


class Listeners:
    """Tells events to all, one event after another and always in the same order of listeners."""

    def __init__(self) -> None:
        self._row: tuple[_Subscription, ...] = ()
        self._row_of_updates: tuple[_Subscription, ...] = ()
        """Those who want to hear of every token."""
        self._untold: deque[AgentEvent] = deque()
        self._telling = False

    def add(self, listener: Listener, *, updates: bool = True) -> Callable[[], None]:
        """Have ``listener`` called from now on; gives what ends that, at once.

        Without ``updates`` it is spared what is told with every token.
        """
        subscription = _Subscription(listener)
        self._row = (*self._row, subscription)
        if updates:
            self._row_of_updates = (*self._row_of_updates, subscription)

        def end() -> None:
            subscription.listener = None  # also for an event that is being told
            self._row = _without(subscription, self._row)
            self._row_of_updates = _without(subscription, self._row_of_updates)

        return end

    async def tell(self, event: AgentEvent) -> None:
        """Until everybody has heard ``event``, and what was told from inside a listener."""
        if self._untold:
            self._untold.append(event)
            event = self._untold.popleft()
        self._telling = True
        try:
            while True:
                row = self._row_of_updates if type(event) is MessageUpdate else self._row
                for subscription in row:
                    if (listener := subscription.listener) is None:
                        continue
                    try:
                        heard = listener(event)
                        if heard is not None:
                            await heard
                    except asyncio.CancelledError:
                        if _is_being_cancelled():
                            raise
                        log.exception("a listener was cancelled at %s", type(event).__name__)
                    except Exception:
                        log.exception("a listener failed at %s", type(event).__name__)
                if not self._untold:
                    break
                event = self._untold.popleft()
        finally:
            self._telling = False

    async def tell_after(self, event: AgentEvent) -> None:
        """Tell ``event``, but not before everybody has heard the one that is being told."""
        if self._telling:
            self._untold.append(event)
        else:
            await self.tell(event)


def _without(ended: _Subscription, row: tuple[_Subscription, ...]) -> tuple[_Subscription, ...]:
    return tuple(other for other in row if other is not ended)


def _is_being_cancelled() -> bool:
    """Whether it is the run that is cancelled, and not something that a listener awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
