"""Lifetimes: ``Scope`` ends what is started or registered in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import Any, TypeAlias

from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.coding.extension_host.errors import contained


class Registration:
    """A registration of an extension, until it is removed or its scope is closed."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end: Callable[[], None] | None = end

    def remove(self) -> None:
        """Remove the registration; further calls do nothing."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def forget(self) -> None:
        """Drop the registration without removing it: it was ended elsewhere."""
        self._end = None

    @property
    def active(self) -> bool:
        """Whether it was not removed yet."""
        return self._end is not None


Close: TypeAlias = Callable[[], Awaitable[None] | None]
Report: TypeAlias = Callable[[str, BaseException], None]
"""Gets the name of the failed operation and the exception."""


MAX_ENDED = 50
"""Ended registrations that may accumulate before they are dropped."""


class Scope:
    """Tasks, timers and registrations of one extension in one session."""

    def __init__(self, clock: Clock, *, name: str, report: Report) -> None:
        self.clock = clock
        self.name = name
        self._report = report
        self._tasks = TaskScope(report=report)
        self._kept: list[Registration] = []
        self._tidied_at = MAX_ENDED
        self._closers: list[Close] = []
        self.closed = False

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run ``work`` as a task; a failure is reported."""
        # A new context: work that was started inside a run does not belong to that run.
        return Context().run(self._tasks.start, work, name=f"{self.name}: {name}")

    def every(self, seconds: float, tick: Close) -> Registration:
        """Call ``tick`` periodically; a failure is reported, and the timer continues."""

        async def go_on() -> None:
            while True:
                await self.clock.sleep(seconds)
                await self._guarded("timer", tick)

        task = self.spawn(go_on(), name="timer")
        return self.keep(Registration(lambda: _cancel(task)))

    def inner(self, name: str) -> Scope:
        """A scope within this one; the caller closes it."""
        return Scope(self.clock, name=f"{self.name}: {name}", report=self._report)

    def on_close(self, close: Close) -> None:
        """Call ``close`` at the end, in reverse order of registration."""
        self._closers.append(close)

    def keep(self, registration: Registration) -> Registration:
        """Remove a registration at the end."""
        if len(self._kept) >= self._tidied_at:  # keeps repeated registrations from piling up
            self._kept = [each for each in self._kept if each.active]
            self._tidied_at = MAX_ENDED + 2 * len(self._kept)
        self._kept.append(registration)
        return registration

    def take_back(self) -> None:
        """Remove all registrations; tasks continue."""
        for registration in reversed(self._kept):
            registration.remove()
        self._kept.clear()

    async def close(self) -> None:
        """Remove all registrations, cancel tasks, and call the close functions."""
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
        except Exception as error:
            self._report(f"{self.name}: {what}", error)


def _cancel(task: asyncio.Task[Any]) -> None:
    if not task.done():
        task.cancel()
