"""A lifetime: what is started or registered in it ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeAlias

from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.coding.extension_host.errors import contained

# What every registration gives back.


class Registration:
    """Something that an extension has registered, until it is removed or its scope ends."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    def remove(self) -> None:
        """Take it back; once is enough, and twice does no harm."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def forget(self) -> None:
        """Leave it as it is: somebody else has ended it."""
        self._end = None

    @property
    def active(self) -> bool:
        """Whether it still counts."""
        return self._end is not None


Close: TypeAlias = Callable[[], Awaitable[None] | None]
Report: TypeAlias = Callable[[str, BaseException], None]
"""Told what was being done, and what went wrong."""


FEW = 50
"""Registrations that may be over before anybody looks which ones are."""


class Scope:
    """Tasks, timers and registrations of one extension in one session."""

    def __init__(self, clock: Clock, *, name: str, report: Report) -> None:
        self.clock = clock
        self.name = name
        self._report = report
        self._tasks = TaskScope(report=report)
        self._kept: list[Registration] = []
        self._tidied_at = FEW
        self._closers: list[Close] = []
        self.closed = False

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run ``work`` beside everything else; a failure is reported and harms nobody."""
        # A context of its own: work that was begun inside a run does not belong to that run.
        return Context().run(self._tasks.start, work, name=f"{self.name}: {name}")

    def every(self, seconds: float, tick: Close) -> Registration:
        """Call ``tick`` again and again; one that fails is reported, and called again."""

        async def go_on() -> None:
            while True:
                await self.clock.sleep(seconds)
                await self._guarded("timer", tick)

        task = self.spawn(go_on(), name="timer")
        return self.keep(Registration(lambda: _cancel(task)))

    def inner(self, name: str) -> Scope:
        """A lifetime within this one; whoever wants it closes it in time."""
        return Scope(self.clock, name=f"{self.name}: {name}", report=self._report)

    def on_close(self, close: Close) -> None:
        """Have ``close`` called at the end; those that came later are called first."""
        self._closers.append(close)

    def keep(self, registration: Registration) -> Registration:
        """Have a registration removed at the end."""
        if len(self._kept) >= self._tidied_at:  # who registers again and again leaves nothing here
            self._kept = [each for each in self._kept if each.active]
            self._tidied_at = FEW + 2 * len(self._kept)
        self._kept.append(registration)
        return registration

    def take_back(self) -> None:
        """Remove everything that was registered; what runs goes on."""
        for registration in reversed(self._kept):
            registration.remove()
        self._kept.clear()

    async def close(self) -> None:
        """End everything; waits for what is being ended."""
        if self.closed:
            return
        self.closed = True
        self.take_back()
        await self._tasks.close()
        while self._closers:
            await self._guarded("close", self._closers.pop())

    async def _guarded(self, what: str, work: Close) -> None:
        try:
            await contained(work)
        except Exception as problem:
            self._report(f"{self.name}: {what}", problem)


def _cancel(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
