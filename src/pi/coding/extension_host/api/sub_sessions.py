"""Nested sessions that extensions start."""

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
    """A running nested session; it is closed with the scope that started it."""

    def __init__(self, session: NestedSession, spec: SubSession, scope: Scope) -> None:
        self._session = session
        self._spec = spec
        self._clock = scope.clock
        self._turns, self._cost = 0, 0.0
        self._spent = asyncio.Event()
        self._task = scope.spawn(self._work(), name="sub-session")

    def events(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe ``listener`` to its public events. Returns an unsubscribe function."""
        return self._session.subscribe(listener)

    async def steer(self, text: str) -> None:
        """Send a message to the running session."""
        await self._session.steer(text)

    async def abort(self) -> None:
        """Abort it; its result is the last answer so far."""
        await self._session.abort()

    async def result(self) -> AssistantMessage | None:
        """Its last answer. Raises ``CancelledError`` if the parent session ended before."""
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
        """Conditions that end the session early."""
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
        """Count turns and cost."""
        if isinstance(event, TurnEnd):
            self._turns += 1
            self._cost += event.message.usage.cost.total
            turns, cost = self._spec.turns, self._spec.cost
            if self._turns == turns or (cost is not None and self._cost >= cost):
                self._spent.set()


def inherited_extensions(spec: SubSession, found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The extensions of a session that are also loaded in its nested session."""
    match spec.extensions:
        case "all":
            return tuple(found)
        case "guards":
            names: tuple[str, ...] = ()
        case names:
            known = {candidate.name for candidate in found}
            if missing := [name for name in names if name not in known]:
                raise ExtensionError(
                    f"Unknown extension {missing[0]!r}.",
                    hint=f"Extensions of this session: {', '.join(sorted(known)) or 'none'}.",
                )
    return tuple(each for each in found if each.name in names or each.declared().sub_sessions)
