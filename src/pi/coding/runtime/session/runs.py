"""``IdleQueue``: actions that wait until the agent is idle, such as switching sessions."""

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
    """Runs actions one after another, each when no run is active or about to start."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._acts: deque[tuple[Act, bool]] = deque()
        """Waiting actions, and whether prompts wait for them."""
        self._worker: asyncio.Task[None] | None = None
        self._acting = False
        self._preparing = 0
        """Prompts whose run is about to start."""
        self._changed = Notifier()

    def add(self, act: Act, *, before_next_prompt: bool = True) -> None:
        """Run ``act`` when the agent is idle next, after those already queued.

        With ``before_next_prompt`` the next prompt waits for it.
        """
        self._acts.append((act, before_next_prompt))
        if self._worker is None:
            # In an empty context: the caller may be inside of the run that is waited for.
            self._worker = asyncio.get_running_loop().create_task(
                self._work(), name="when idle", context=Context()
            )

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the queue while a prompt is prepared, after the actions that it waits for."""
        while self._holds_prompts and self._worker is not asyncio.current_task():
            await self._changed.wait()
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1
            self._changed.notify()

    async def close(self) -> None:
        """Drop waiting actions."""
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
                    log.exception("an action queued for the idle agent failed")
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
