"""What must wait until the agent rests: other sessions, hand-offs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeAlias

from pi.agent.agent import Agent

Act: TypeAlias = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class WhenIdle:
    """Carries out acts one after another, each when no run is under way."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._acts: deque[Act] = deque()
        self._worker: asyncio.Task[None] | None = None

    def add(self, act: Act) -> None:
        """Have ``act`` carried out at the next rest, behind those that wait already."""
        self._acts.append(act)
        if self._worker is None:
            # A context of its own: whoever adds it may be inside the run that is waited for.
            self._worker = asyncio.get_running_loop().create_task(
                self._work(), name="when idle", context=Context()
            )

    async def done(self) -> None:
        """Until nothing waits any more; the next prompt comes after that."""
        if self._worker is not None and self._worker is not asyncio.current_task():
            await asyncio.wait({self._worker})

    async def close(self) -> None:
        """Give up what still waits."""
        self._acts.clear()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        try:
            while self._acts:
                await self._agent.wait_for_idle()
                act = self._acts.popleft()
                try:
                    await act()
                except Exception:
                    log.exception("what waited for the agent's rest failed")
        finally:
            self._worker = None
