"""Runs and events for extensions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context as TaskContext
from typing import Any

from msgspec import UNSET

from pi.agent.errors import AgentBusy
from pi.agent.events import AgentEnd
from pi.agent.policy import Interrupt, Request
from pi.agent.response import MessageToken
from pi.ai.messages import Image, Json
from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.coding.compaction.events import SessionTreeEvent
from pi.coding.extension_host.errors import ExtensionError, error_text
from pi.coding.extension_host.events.session import ModelSelectEvent, ThinkingLevelSelectEvent
from pi.coding.extension_host.scope import Scope
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import CustomMessage

MOVES = (SessionTreeEvent, ModelSelectEvent, ThinkingLevelSelectEvent)
"""Events of the bus only that may change the leaf or the state of a session."""


class HostedRuns:
    """Implements ``SessionRuns``. ``settled`` waits for all runs that extensions started."""

    def __init__(
        self, core: LiveSession, session: AgentSession, refresh_policies: Callable[[], None]
    ) -> None:
        self._core = core
        self._session = session
        self._refresh_policies = refresh_policies
        self._tasks = TaskScope()
        self._begun: set[asyncio.Task[None]] = set()
        self._scopes: dict[Scope, Scope] = {}
        core.agent.subscribe(self._handle_event, kinds=(AgentEnd,))

    async def close(self) -> None:
        """Stop what extensions have started."""
        await self._end_scopes()
        await self._tasks.close()

    async def settled(self) -> None:
        """Wait until the runs that extensions started are over."""
        while self._begun:
            await asyncio.wait(self._begun)

    @property
    def idle(self) -> bool:
        """Whether no run is active."""
        return not self._core.busy

    @property
    def message_token(self) -> MessageToken | None:
        """Identifies the answer that is being streamed."""
        return self._core.agent.open_answer.token

    def scope(self, outer: Scope) -> Scope:
        """Return a scope that ends with the current run."""
        if self.idle:
            raise ExtensionError("No run is active.", hint="pi.scope lasts as long as the session.")
        if outer not in self._scopes:
            self._scopes[outer] = outer.inner("run")
        return self._scopes[outer]

    def begin(self, message: CustomMessage) -> None:
        """Start a run with a message."""

        async def run() -> None:
            await self._session.prompts.prepare()
            try:
                await self._core.agent.prompt((message,))
            except AgentBusy:  # another run started first
                await self._core.agent.follow_up(message)

        self._begin(run)

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Start a run with a user message; ``meta`` is stored with it."""

        async def run() -> None:
            await self._session.prompts.prompt(
                text,
                images,
                source="extension",
                streaming="followUp",
                expand=expand,
                meta=meta or UNSET,
            )

        self._begin(run)

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Queue a message for the current run."""
        agent = self._core.agent
        await (agent.follow_up if follow_up else agent.steer)(message)

    def next_request(self) -> Request:
        """Return the request that the model would get now; nothing is sent."""
        agent = self._core.agent
        if not agent.is_running:  # a run keeps the prompt and tools that it started with
            agent.tools = self._core.toolbox.active()
            agent.system_prompt = self._session.prompts.sections()
        return agent.next_request()

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """Interrupt an answer and request it again. Returns False if it is already complete."""
        return self._core.agent.open_answer.interrupt(token, cut)

    def abort(self) -> None:
        """Abort the run, local or remote."""
        self._core.agent.abort()
        if self._core.remote is not None:
            apart(self._tasks, self._core.remote.abort(), name="abort remote run")

    async def compact(self, instructions: str) -> Any:
        """Compact the conversation."""
        return await self._session.compaction.compact(instructions)

    def refresh_policies(self) -> None:
        """Use the current policies from the next run on."""
        self._refresh_policies()

    async def _handle_event(self, event: object) -> None:
        await self._end_scopes()

    async def _end_scopes(self) -> None:
        scopes, self._scopes = self._scopes, {}
        for scope in scopes.values():
            await scope.close()

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start a run in the background."""

        async def run() -> None:
            try:
                await work()
            except PiError as error:
                self._core.machine.report(
                    f"An extension could not start a run: {error_text(error)}"
                )

        task = apart(self._tasks, run(), name="run of an extension")
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)


GRACE_SECONDS = 1.0
"""Seconds to emit pending events when a session ends, such as a failed handler."""


class HostedEvents:
    """Implements ``SessionEvents``."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._tasks = TaskScope()

    async def close(self) -> None:
        """Emit pending events, then stop."""
        await self._tasks.settle(GRACE_SECONDS)
        await self._tasks.close()

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe to every public event. Returns an unsubscribe function."""
        return self._core.agent.subscribe(listener)

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of leaf, model or level that have no public event.

        Returns an unsubscribe function.
        """
        ends = [self._core.bus.subscribe(kind, lambda _: listener()) for kind in MOVES]

        def end() -> None:
            for each in ends:
                each()

        return end

    async def emit(self, event: Any) -> None:
        """Emit a public event."""
        await self._core.emit(event)

    def emit_soon(self, event: Any) -> None:
        """Emit a public event after the pending ones."""
        apart(self._tasks, self._core.emit(event), name="extension event")


def apart(tasks: TaskScope, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Start ``work`` in an empty context: the caller may be part of a run, ``work`` is not."""
    return TaskContext().run(tasks.start, work, name=name)
