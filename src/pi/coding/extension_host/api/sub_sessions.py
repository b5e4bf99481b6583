"""Sessions that work for a session: with what guards it, and never longer than it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from pi.agent.events import TurnEnd
from pi.ai.messages import AssistantMessage
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Scope
from pi.coding.port.results import SubSession
from pi.coding.port.session import NestedSession


class SessionHandle:
    """A nested session that is at work; it ends with the scope that began it."""

    def __init__(self, session: NestedSession, spec: SubSession, scope: Scope) -> None:
        self._session = session
        self._spec = spec
        self._clock = scope.clock
        self._turns, self._cost = 0, 0.0
        self._spent = asyncio.Event()
        self._task = scope.spawn(self._work(), name="sub-session")

    def events(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event of it; gives what ends that."""
        return self._session.subscribe(listener)

    async def steer(self, text: str) -> None:
        """Tell it something while it works."""
        await self._session.steer(text)

    async def abort(self) -> None:
        """End it; its result is what it had come to."""
        await self._session.abort()

    async def result(self) -> AssistantMessage | None:
        """Its last answer; ``CancelledError`` if its parent ended before."""
        answer: AssistantMessage | None = await asyncio.shield(self._task)
        return answer

    async def _work(self) -> AssistantMessage | None:
        try:
            limits = self._limits()
            if not limits:
                return await self._session.prompt(self._spec.prompt)
            return await self._within(limits)
        finally:
            await self._session.close()

    def _limits(self) -> list[Coroutine[Any, Any, Any]]:
        """What ends it before it has come to an end itself."""
        spec, limits = self._spec, list[Coroutine[Any, Any, Any]]()
        if spec.seconds is not None:
            limits.append(self._clock.sleep(spec.seconds))
        if spec.turns is not None or spec.cost is not None:
            limits.append(self._spent.wait())
        return limits

    async def _within(self, limits: list[Coroutine[Any, Any, Any]]) -> AssistantMessage | None:
        end = self._session.subscribe(self._count)
        work = asyncio.ensure_future(self._session.prompt(self._spec.prompt))
        ends = {asyncio.ensure_future(limit) for limit in limits}
        try:
            await asyncio.wait({work, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._session.abort()
            return await work
        finally:
            end()
            for task in (work, *ends):
                task.cancel()
            await asyncio.wait({work, *ends})

    def _count(self, event: Any) -> None:
        """See what it has done so far."""
        if isinstance(event, TurnEnd):
            self._turns += 1
            self._cost += event.message.usage.cost.total
            turns, cost = self._spec.turns, self._spec.cost
            if self._turns == turns or (cost is not None and self._cost >= cost):
                self._spent.set()


def inherited(spec: SubSession, found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Those extensions of a session that are loaded in one that works for it."""
    match spec.extensions:
        case "all":
            return tuple(found)
        case "guards":
            names: tuple[str, ...] = ()
        case names:
            known = {candidate.name for candidate in found}
            if missing := [name for name in names if name not in known]:
                raise ExtensionError(
                    f"There is no extension called {missing[0]!r} in this session.",
                    hint=f"It has {', '.join(sorted(known)) or 'none'}.",
                )
    return tuple(each for each in found if each.name in names or each.declared().sub_sessions)
