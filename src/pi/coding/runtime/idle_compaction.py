"""Compaction while the session rests."""

from __future__ import annotations

import asyncio
from contextvars import Context

from pi.agent.events import AgentSettled, AgentStart
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.idling import compact_when_idle
from pi.coding.compaction.surroundings import Surroundings
from pi.coding.runtime.core import Core


class IdleCompaction:
    """Begins to wait when the agent settles, and stops when it starts again."""

    def __init__(self, core: Core, compactor: Compactor, around: Surroundings) -> None:
        self._core = core
        self._compactor = compactor
        self._around = around
        self._waiting: asyncio.Task[bool] | None = None

    def hear(self, event: object) -> None:
        """Follow what the agent tells."""
        if isinstance(event, AgentStart):
            self._stop()
        elif isinstance(event, AgentSettled) and self._around.options().idle_enabled:
            self._stop()
            work = compact_when_idle(self._compactor, self._around, busy=self._busy)
            self._waiting = asyncio.get_running_loop().create_task(
                work, name="idle compaction", context=Context()
            )

    async def close(self) -> None:
        """Wait no more."""
        waiting = self._waiting
        self._stop()
        if waiting is not None:
            await asyncio.wait({waiting})

    def _busy(self) -> bool:
        """Whether something in the background still works."""
        running = self._core.workspace.commands.running
        return bool(running) or self._core.busy or self._core.elsewhere is not None

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
