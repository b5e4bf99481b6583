"""Runs and events of a session, as its extensions begin, cut and tell them."""

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
from pi.coding.compaction.events import TreeMoved
from pi.coding.extension_host.errors import ExtensionError, error_text
from pi.coding.extension_host.events.session import ModelSelected, ThinkingLevelSelected
from pi.coding.extension_host.scope import Scope
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import CustomMessage

MOVES = (TreeMoved, ModelSelected, ThinkingLevelSelected)
"""What is told over the bus only, and may change the leaf or the state of a session."""


class HostedRuns:
    """Implements ``SessionRuns``. Whoever wants to can wait until everything has settled."""

    def __init__(
        self, core: LiveSession, session: AgentSession, refresh_policies: Callable[[], None]
    ) -> None:
        self._core = core
        self._parts = session
        self._refresh_policies = refresh_policies
        self._tasks = TaskScope()
        self._begun: set[asyncio.Task[None]] = set()
        self._scopes: dict[Scope, Scope] = {}
        core.agent.subscribe(self._hear, updates=False)

    async def close(self) -> None:
        """End what extensions have begun."""
        await self._end_scopes()
        await self._tasks.close()

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        while self._begun:
            await asyncio.wait(self._begun)

    @property
    def idle(self) -> bool:
        """Whether no run is under way."""
        return not self._core.busy

    @property
    def message_token(self) -> MessageToken | None:
        """Stands for the answer that is being streamed."""
        return self._core.agent.open_answer.token

    def scope(self, outer: Scope) -> Scope:
        """What an extension starts for the run that is under way, and no longer."""
        if self.idle:
            raise ExtensionError(
                "No run is under way.", hint="pi.scope lasts as long as the session."
            )
        if outer not in self._scopes:
            self._scopes[outer] = outer.inner("run")
        return self._scopes[outer]

    def begin(self, message: CustomMessage) -> None:
        """Begin a run with a message."""

        async def run() -> None:
            await self._parts.prompts.prepare()
            try:
                await self._core.agent.prompt((message,))
            except AgentBusy:  # somebody else was faster
                await self._core.agent.follow_up(message)

        self._begin(run)

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Begin a run as if the person had said it; ``meta`` is kept beside it."""

        async def run() -> None:
            await self._parts.prompts.prompt(
                text,
                images,
                source="extension",
                streaming="followUp",
                expand=expand,
                meta=meta or UNSET,
            )

        self._begin(run)

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Have a message delivered in the run that is under way."""
        agent = self._core.agent
        await (agent.follow_up if follow_up else agent.steer)(message)

    def next_request(self) -> Request:
        """What the model would be asked now; nothing is sent."""
        agent = self._core.agent
        if not agent.is_running:  # a run has the prompt and the tools that it began with
            agent.tools = self._core.toolbox.active()
            agent.system_prompt = self._parts.prompts.sections()
        return agent.next_request()

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """Cut an answer, and ask again; False if it is too late."""
        return self._core.agent.open_answer.interrupt(token, cut)

    def abort(self) -> None:
        """Ask the run to end, here or elsewhere."""
        self._core.agent.abort()
        if self._core.elsewhere is not None:
            apart(self._tasks, self._core.elsewhere.abort(), name="abort elsewhere")

    async def compact(self, instructions: str) -> Any:
        """Make the conversation shorter."""
        return await self._parts.compaction.compact(instructions)

    def refresh_policies(self) -> None:
        """Have the next run ask whoever is there now."""
        self._refresh_policies()

    async def _hear(self, event: object) -> None:
        if isinstance(event, AgentEnd):
            await self._end_scopes()

    async def _end_scopes(self) -> None:
        scopes, self._scopes = self._scopes, {}
        for scope in scopes.values():
            await scope.close()

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin a run that nobody waits for."""

        async def run() -> None:
            try:
                await work()
            except PiError as problem:
                self._core.host.report(f"An extension could not begin a run: {error_text(problem)}")

        task = apart(self._tasks, run(), name="run of an extension")
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)


LAST_WORDS = 1.0
"""Seconds for what was to be told soon when a session ends, such as that a handler failed."""


class HostedEvents:
    """Implements ``SessionEvents``."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._tasks = TaskScope()

    async def close(self) -> None:
        """Tell what is still to be told, and nothing more."""
        await self._tasks.settle(LAST_WORDS)
        await self._tasks.close()

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event; gives what ends that."""
        return self._core.agent.subscribe(listener)

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have ``listener`` called when the leaf or what was chosen changes without an event."""
        ends = [self._core.bus.subscribe(kind, lambda _: listener()) for kind in MOVES]

        def end() -> None:
            for each in ends:
                each()

        return end

    async def emit(self, event: Any) -> None:
        """Tell a public event."""
        await self._core.tell(event)

    def emit_soon(self, event: Any) -> None:
        """Tell a public event, after what is being told."""
        apart(self._tasks, self._core.tell(event), name="extension event")


def apart(tasks: TaskScope, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Start ``work`` in a context of its own: whoever asks may be inside a run, and this is not."""
    return TaskContext().run(tasks.start, work, name=name)
