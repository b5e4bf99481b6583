"""What outlives a session: made once per process, counted, and closed when nobody uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from pi.base.clock import Clock
from pi.coding.extension_host.scope import Report, Scope

T = TypeVar("T")


class _Thing:
    """Something that is shared, with the lifetime that it was made in."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.users = 0
        self.lingering: asyncio.Task[None] | None = None


class SharedThings:
    """By key. One per process; sessions take and release."""

    def __init__(self) -> None:
        self._things: dict[Hashable, _Thing] = {}

    async def take(
        self,
        key: Hashable,
        make: Callable[[Scope], Awaitable[T]],
        *,
        user: Scope,
        report: Report,
        linger: float,
    ) -> T:
        """What ``make`` has made for ``key``; released when ``user`` ends."""
        thing = self._things.get(key)
        if thing is None:
            scope = Scope(user.clock, name=f"shared {key}", report=report)
            thing = _Thing(scope)
            self._things[key] = thing
            await self._make(key, thing, make)
        if thing.lingering is not None:
            thing.lingering.cancel()
            thing.lingering = None
        thing.users += 1
        user.on_close(lambda: self._release(key, thing, linger, user.clock))
        result: T = await asyncio.shield(thing.made)
        return result

    async def close(self) -> None:
        """End everything, whoever uses it."""
        things, self._things = self._things, {}
        for thing in things.values():
            if thing.lingering is not None:
                thing.lingering.cancel()
            await thing.scope.close()

    async def _make(
        self, key: Hashable, thing: _Thing, make: Callable[[Scope], Awaitable[T]]
    ) -> None:
        try:
            thing.made.set_result(await make(thing.scope))
        except BaseException:
            self._things.pop(key, None)
            thing.made.cancel()
            await thing.scope.close()
            raise

    async def _release(self, key: Hashable, thing: _Thing, linger: float, clock: Clock) -> None:
        thing.users -= 1
        if thing.users > 0:
            return
        if linger <= 0:
            await self._end(key, thing)
            return

        async def wait() -> None:
            await clock.sleep(linger)
            await self._end(key, thing)

        thing.lingering = asyncio.get_running_loop().create_task(wait(), name=f"shared {key}")

    async def _end(self, key: Hashable, thing: _Thing) -> None:
        if self._things.get(key) is thing:
            del self._things[key]
        await thing.scope.close()
