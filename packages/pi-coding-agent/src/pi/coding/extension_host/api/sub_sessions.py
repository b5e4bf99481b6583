"""Nested sessions that extensions start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi.agent.events import EntryAppended, MessageEnd, TurnEnd
from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage, add_usage
from pi.ai.models.thinking_levels import THINKING_LEVELS
from pi.base.records import replace
from pi.coding.compaction.events import CompactionEnd, CompactionResult
from pi.coding.extension_host.contributions.tools import guard_policy
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.errors import ExtensionError, check_value
from pi.coding.extension_host.scope import Scope
from pi.coding.port.results import SubSession
from pi.coding.port.session import NestedSession
from pi.coding.session.entries import SessionMessage

if TYPE_CHECKING:
    from pi.coding.extension_host.api.loaded_extension import LoadedExtension


class SessionHandle:
    """A nested session; it is closed with the scope that started it.

    Without ``keep`` it is closed after its first prompt.
    """

    def __init__(self, session: NestedSession, spec: SubSession, scope: Scope) -> None:
        self._session = session
        self._spec = spec
        self._scope = scope
        self._running = False
        self._ended = asyncio.Event()
        self._usage = Usage()
        self._unsubscribe = session.subscribe(self._add_usage)
        self._task = scope.spawn(self._first(), name="sub-session")
        if spec.keep:
            scope.spawn(self._close_at_end(), name="kept sub-session")

    @property
    def closed(self) -> bool:
        """Whether the session is closed and accepts no more prompts."""
        return self._ended.is_set()

    @property
    def messages(self) -> Sequence[SessionMessage]:
        """The messages of its conversation, also after it was closed."""
        return self._session.messages

    @property
    def file(self) -> Path | None:
        """Its session file; ``None`` in memory."""
        return self._session.session_file

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all its requests, e.g. for ``ToolResult.usage``."""
        return self._usage

    def events(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe ``listener`` to its public events. Returns an unsubscribe function."""
        return self._session.subscribe(listener)

    async def result(self) -> AssistantMessage | None:
        """The last answer to its first prompt.

        Cancelling the caller aborts the run, unless it runs in the ``background``. Raises
        ``CancelledError`` if the parent session ended first.
        """
        return await self._wait(self._task)

    async def prompt(self, text: str) -> AssistantMessage | None:
        """Send another prompt to a kept session; returns the last answer."""
        self._require_open("prompt it")
        if self._running:
            raise ExtensionError(
                "The nested session is already running.",
                hint="Wait for its result, or send the text with steer().",
            )
        self._running = True
        return await self._wait(self._scope.spawn(self._run(text), name="sub-session prompt"))

    async def steer(self, text: str) -> None:
        """Deliver a message after the tools of the current turn, or with the next prompt."""
        self._require_open("steer it")
        await self._session.steer(text)

    async def abort(self) -> None:
        """Abort the run; its result is the last answer so far."""
        await self._session.abort()

    async def close(self) -> None:
        """Abort the run and close the session; further calls do nothing."""
        self._ended.set()
        await self._session.close()
        self._unsubscribe()

    def _require_open(self, action: str) -> None:
        if self.closed:
            hint = "" if self._spec.keep else "Pass keep=True to keep it after its first prompt."
            raise ExtensionError(f"Cannot {action}: the nested session is closed.", hint=hint)

    async def _wait(self, task: asyncio.Task[AssistantMessage | None]) -> AssistantMessage | None:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The user aborted the tool that waits: its nested run must not continue.
            if not (self._spec.background or task.done()):
                await self.abort()
            raise

    async def _first(self) -> AssistantMessage | None:
        try:
            self._running = bool(self._spec.prompt)
            return await self._run(self._spec.prompt) if self._spec.prompt else None
        finally:
            if not self._spec.keep:
                await self.close()

    async def _close_at_end(self) -> None:
        """Close a kept session with its scope."""
        try:
            await self._ended.wait()
        finally:
            await self.close()

    async def _run(self, text: str) -> AssistantMessage | None:
        try:
            limits = Limits(self._spec, self._session)
            return await limits.run(text, self._scope.clock.sleep)
        finally:
            self._running = False

    def _add_usage(self, event: Any) -> None:
        match event:
            case MessageEnd(message=AssistantMessage(usage=Usage() as usage)):
                self._usage = add_usage(self._usage, usage)
            case MessageEnd(message=ToolResultMessage(usage=Usage() as usage)):
                self._usage = add_usage(self._usage, usage)
            case CompactionEnd(result=CompactionResult(usage=Usage() as usage)):
                self._usage = add_usage(self._usage, usage)
            case EntryAppended(entry={"usage": dict(raw)} | {"data": {"usage": dict(raw)}}):
                # A request outside of the conversation, such as one of an extension.
                self._usage = add_usage(self._usage, msgspec.convert(raw, Usage))


class Limits:
    """Aborts the run of a prompt at its time, turn or cost limit."""

    def __init__(self, spec: SubSession, session: NestedSession) -> None:
        self._spec = spec
        self._session = session
        self._turns, self._cost = 0, 0.0
        self._spent = asyncio.Event()

    async def run(
        self, text: str, sleep: Callable[[float], Coroutine[Any, Any, None]]
    ) -> AssistantMessage | None:
        """Send a prompt; returns the last answer, even if a limit ended the run."""
        limits = list[Coroutine[Any, Any, Any]]()
        if self._spec.seconds is not None:
            limits.append(sleep(self._spec.seconds))
        if self._spec.turns is not None or self._spec.cost is not None:
            limits.append(self._spent.wait())
        if not limits:
            return await self._session.prompt(text)
        return await self._within(limits, text)

    async def _within(
        self, limits: list[Coroutine[Any, Any, Any]], text: str
    ) -> AssistantMessage | None:
        end = self._session.subscribe(self._count_turn)
        work = asyncio.ensure_future(self._session.prompt(text))
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

    def _count_turn(self, event: Any) -> None:
        """Count turns and cost; set ``_spent`` at a limit."""
        if isinstance(event, TurnEnd):
            self._turns += 1
            self._cost += event.message.usage.cost.total
            turns, cost = self._spec.turns, self._spec.cost
            if self._turns == turns or (cost is not None and self._cost >= cost):
                self._spent.set()


async def open_sub_session(instance: LoadedExtension, spec: SubSession) -> SessionHandle:
    """Open a nested session and start its first prompt.

    Raises ``ExtensionError`` if there is neither a prompt nor ``keep``, or for a bad option.
    """
    if not (spec.prompt or spec.keep):
        raise ExtensionError(
            "The nested session has no prompt.", hint="Pass a prompt, or keep=True to prompt later."
        )
    if spec.thinking is not None:
        check_value("a thinking level", spec.thinking, THINKING_LEVELS)
    owner, failed = instance.owner, instance.state.failed
    policies = tuple(guard_policy(policy, owner, failed) for policy in spec.policies)
    nested = await instance.link.session.open_nested(replace(spec, policies=policies))
    return SessionHandle(nested, spec, instance.scope)


def inherited_extensions(
    spec: SubSession, candidates: Sequence[Candidate]
) -> tuple[Candidate, ...]:
    """The extensions of a session that are also loaded in its nested session.

    Raises ``ExtensionError`` if ``spec`` names an unknown one.
    """
    match spec.extensions:
        case "all":
            return tuple(candidates)
        case "guards":
            names: tuple[str, ...] = ()
        case names:
            available = {candidate.name for candidate in candidates}
            if missing := [name for name in names if name not in available]:
                raise ExtensionError(
                    f"Unknown extension {missing[0]!r}.",
                    hint=f"Extensions of this session: {', '.join(sorted(available)) or 'none'}.",
                )
    return tuple(
        candidate
        for candidate in candidates
        if candidate.name in names or candidate.declared().sub_sessions
    )
