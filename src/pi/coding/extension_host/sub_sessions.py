"""Sessions that work for a session: with what guards it, and never longer than it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from pi.agent.events import TurnEnd
from pi.agent.policy import Policy
from pi.agent.tool import AgentTool, ToolResult
from pi.ai.messages import AssistantMessage, ToolCall
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.scope import Scope


class SubSession(Record):
    """What a nested session is to do. It inherits model wraps, file layers, guards and trust."""

    prompt: str
    tools: tuple[str, ...] | None = None
    """Names of built-in tools that are on; ``None`` means the usual ones."""
    custom_tools: tuple[AgentTool, ...] = ()
    model: Model | str | None = None
    """Else that of the session."""
    thinking: ThinkingLevel | None = None
    system: str | None = None
    """In place of the whole system prompt."""
    seconds: float | None = None
    """After which it is aborted."""
    turns: int | None = None
    """Answers after which it is aborted, if it does not come to an end by itself."""
    cost: float | None = None
    """Dollars after which it is aborted."""
    cwd: Path | None = None
    extensions: Literal["guards", "all"] | tuple[str, ...] = "guards"
    """Those of the session that are loaded in it as well: none, all, or the ones of these names.

    Those whose manifests say ``sub_sessions = true`` are loaded anyway. All of them guard it in
    any case, so one that is loaded there too is asked there and here.
    """


class NestedSession(Protocol):
    """As much of a session as a handle needs."""

    async def prompt(self, text: str) -> AssistantMessage | None:
        """Say something; gives the last answer."""
        ...

    async def steer(self, text: str) -> None:
        """Have it delivered after the tools of the current turn."""
        ...

    async def abort(self) -> None:
        """End what is under way."""
        ...

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event."""
        ...

    async def close(self) -> None:
        """Let everything go."""
        ...


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


class Guarding(Policy):
    """What a policy says of tool calls, asked in a session that works for its own as well.

    The rest of a policy shapes the runs of its own session, and no others.
    """

    def __init__(self, guard: Policy) -> None:
        self._guard = guard

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Let the call run, unless the parent's extensions forbid it."""
        return await self._guard.before_tool(call)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result, as the parent's extensions want it."""
        return await self._guard.after_tool(call, result)


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
