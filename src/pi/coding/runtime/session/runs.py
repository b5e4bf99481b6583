"""What must wait until the agent rests: other sessions, hand-offs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TypeAlias

from pi.agent.agent import Agent
from pi.base.tasks import Notifier

Act: TypeAlias = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class IdleQueue:
    """Carries out acts one after another, each when no run is under way or about to begin."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._acts: deque[tuple[Act, bool]] = deque()
        """Those that wait, and whether prompts wait for them."""
        self._worker: asyncio.Task[None] | None = None
        self._acting = False
        self._preparing = 0
        """Prompts of which the run is about to begin."""
        self._changed = Notifier()

    def add(self, act: Act, *, before_next_prompt: bool = True) -> None:
        """Have ``act`` carried out at the next rest, behind those that wait already.

        The next prompt waits for it, unless it need not come ``before_next_prompt``.
        """
        self._acts.append((act, before_next_prompt))
        if self._worker is None:
            # A context of its own: whoever adds it may be inside the run that is waited for.
            self._worker = asyncio.get_running_loop().create_task(
                self._work(), name="when idle", context=Context()
            )

    @asynccontextmanager
    async def kept_off(self) -> AsyncIterator[None]:
        """While a prompt is prepared: first come the acts it waits for, then no other begins."""
        while self._holds_prompts and self._worker is not asyncio.current_task():
            await self._changed.wait()
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1
            self._changed.notify()

    async def close(self) -> None:
        """Give up what still waits."""
        self._acts.clear()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        try:
            while self._acts:
                await self._rest()
                act, _ = self._acts.popleft()
                self._acting = True
                try:
                    await act()
                except Exception:
                    log.exception("what waited for the agent's rest failed")
                finally:
                    self._acting = False
                    self._changed.notify()
        finally:
            self._worker = None
            self._changed.notify()

    async def _rest(self) -> None:
        await self._agent.wait_for_idle()
        while self._preparing:
            await self._changed.wait()
            await self._agent.wait_for_idle()

    @property
    def _holds_prompts(self) -> bool:
        return self._acting or any(first for _, first in self._acts)
