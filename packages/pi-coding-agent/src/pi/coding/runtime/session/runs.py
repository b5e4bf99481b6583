"""Runs that extensions start, and actions that wait until the agent is idle."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any, Protocol, TypeAlias, TypeVar

from pi.agent.agent import Agent
from pi.agent.policy import Policy
from pi.base.errors import PiError
from pi.base.tasks import Notifier, TaskScope
from pi.coding.extension_host.errors import error_text
from pi.coding.runtime.live import LiveSession
from pi.coding.session.entries import SessionMessage

T = TypeVar("T")


class StartTask(Protocol):
    """Starts background work."""

    def __call__(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start ``work``; returns its task."""
        ...


Act: TypeAlias = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class IdleQueue:
    """Runs actions one after another, each when no run is active or about to start."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._acts: deque[tuple[Act, bool]] = deque()
        """Waiting actions, and whether prompts wait for them."""
        self._worker: asyncio.Task[None] | None = None
        self._is_running_act = False
        self._preparing = 0
        """Prompts whose run is about to start."""
        self._changed = Notifier()

    def add(self, act: Act, *, before_next_prompt: bool = True) -> None:
        """Run ``act`` once the agent is idle, after the actions that are queued already.

        With ``before_next_prompt`` the next prompt waits for it.
        """
        self._acts.append((act, before_next_prompt))
        if self._worker is None:
            # In an empty context: the caller may be part of a run, the actions are not.
            self._worker = asyncio.get_running_loop().create_task(
                self._work(), name="when idle", context=Context()
            )

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Wait for the actions that prompts wait for, then hold the queue during the block."""
        await self.held()
        self._preparing += 1
        try:
            yield
        finally:
            self._preparing -= 1
            self._changed.notify()

    async def held(self) -> None:
        """Wait for the actions that prompts wait for."""
        while self._holds_prompts and self._worker is not asyncio.current_task():
            await self._changed.wait()

    async def close(self) -> None:
        """Drop waiting actions and cancel the running one."""
        self._acts.clear()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        try:
            while self._acts:
                await self._rest()
                act, _ = self._acts.popleft()
                self._is_running_act = True
                try:
                    await act()
                except Exception:
                    log.exception("an action queued for the idle agent failed")
                finally:
                    self._is_running_act = False
                    self._changed.notify()
        finally:
            self._worker = None
            self._changed.notify()

    async def _rest(self) -> None:
        await self._agent.wait_for_idle()
        while self._preparing:
            await self._changed.wait()
            await self._agent.wait_for_idle()

    @property
    def _holds_prompts(self) -> bool:
        return self._is_running_act or any(first for _, first in self._acts)


class AgentRuns:
    """The current run, and runs that extensions start in the background."""

    def __init__(self, core: LiveSession, policies: tuple[Policy, ...]) -> None:
        self._core = core
        self._policies = policies
        self.open_answer = core.agent.open_answer
        self.progress = core.agent.progress
        self.require_idle = core.agent.require_idle
        self.when_idle = IdleQueue(core.agent)
        """Actions that wait until the agent is idle."""
        self._tasks = TaskScope()
        self.close = self._tasks.close
        """Stops the runs that extensions started."""
        self._started: set[asyncio.Task[None]] = set()
        self.refresh_policies()

    @property
    def idle(self) -> bool:
        """Whether no run is active, local or remote."""
        return not self._core.busy

    async def queue(self, message: SessionMessage, *, follow_up: bool) -> None:
        """Queue a message for the current run."""
        agent = self._core.agent
        await (agent.follow_up if follow_up else agent.steer)(message)

    def abort(self) -> None:
        """Abort the run, local or remote."""
        self._core.agent.abort()
        if self._core.remote is not None:
            self.spawn(self._core.remote.abort(), name="abort remote run")

    def refresh_policies(self) -> None:
        """Set the policies of the next run, including those of extensions."""
        self._core.agent.policies = self._core.extensions.policies(*self._policies)

    def start(self, work: Act) -> asyncio.Task[None]:
        """Start a run of an extension in the background; ``work`` runs it to its end."""

        async def run() -> None:
            try:
                await work()
            except PiError as error:
                self._core.machine.report(
                    f"An extension could not start a run: {error_text(error)}"
                )

        task = self.spawn(run(), name="run of an extension")
        self._started.add(task)
        task.add_done_callback(self._started.discard)
        return task

    async def settled(self) -> None:
        """Wait until the runs that extensions started have ended."""
        while self._started:
            await asyncio.wait(self._started)

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start background work that is stopped with the session."""
        # In an empty context: the caller may be part of a run, ``work`` is not.
        return Context().run(self._tasks.start, work, name=name)
