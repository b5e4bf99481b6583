"""What must wait until the agent rests: other sessions, hand-offs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from typing import TypeAlias

from pi.agent.agent import Agent
from pi.base.errors import PiError

Act: TypeAlias = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class WhenIdle:
    """Carries out acts one after another, each when no run is under way or about to begin."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._acts: deque[tuple[Act, bool]] = deque()
        """Those that wait, and whether prompts wait for them."""
        self._worker: asyncio.Task[None] | None = None
        self._acting = False
        self._preparing = 0
        """Prompts of which the run is about to begin."""
        self._held = 0
        """Reasons why no prompt may begin."""
        self._given_up = 0
        """How often those that wait were told not to."""
        self._changed = asyncio.Event()

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

    @contextmanager
    def holding_prompts(self) -> Iterator[None]:
        """For as long as the block lasts, what people say waits."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._tell()

    async def may_prompt(self) -> None:
        """Until nobody holds prompts; ``PiError`` if they are given up meanwhile."""
        before = self._given_up
        while self._held:
            await self._changed.wait()
            if self._given_up != before:
                raise PiError("The prompt was aborted before its run began.")

    def give_up_prompts(self) -> None:
        """Those that wait will not begin."""
        self._given_up += 1
        self._tell()

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
            self._tell()

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
                    self._tell()
        finally:
            self._worker = None
            self._tell()

    async def _rest(self) -> None:
        await self._agent.wait_for_idle()
        while self._preparing:
            await self._changed.wait()
            await self._agent.wait_for_idle()

    @property
    def _holds_prompts(self) -> bool:
        return self._acting or any(first for _, first in self._acts)

    def _tell(self) -> None:
        """Have everybody who waits look again."""
        self._changed.set()
        self._changed = asyncio.Event()
