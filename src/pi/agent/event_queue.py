"""Events of several tasks, told in one order."""

from __future__ import annotations

import asyncio

from pi.agent.events import AgentEvent, Emit


class EventQueue:
    """Tells events one after another, in the order in which they were put."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._queue: asyncio.Queue[AgentEvent] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def put(self, event: AgentEvent) -> None:
        """Have ``event`` told as soon as those before it have been."""
        self._queue.put_nowait(event)

    async def told(self) -> None:
        """Wait until everybody has heard everything."""
        await self._queue.join()

    async def __aenter__(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._tell(), name="tool events")

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._task is not None
        try:
            if kind is None:
                await self.told()
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _tell(self) -> None:
        while True:
            event = await self._queue.get()
            try:
                await self._emit(event)
            finally:
                self._queue.task_done()
