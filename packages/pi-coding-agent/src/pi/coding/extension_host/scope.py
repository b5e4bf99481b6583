"""Lifetimes: a ``Scope`` removes its registrations at its end; ``SessionLink`` checks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.agent.events import AgentEnd
from pi.base.clock import Clock
from pi.base.folder_changes import watch_folder
from pi.base.tasks import TaskScope, dropped
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.port.results import TaskOptions
from pi.coding.port.session import SessionPort
from pi.coding.port.ui import ExtensionUI, Mode

if TYPE_CHECKING:
    from pi.coding.models.registry import ModelRegistry
    from pi.coding.port.queries import WorkspacePort


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
        """Drop the registration without calling its end function: it was removed otherwise."""
        self._end = None

    @property
    def active(self) -> bool:
        """Whether the registration was neither removed nor dropped."""
        return self._end is not None


Close: TypeAlias = Callable[[], Awaitable[None] | None]
Report: TypeAlias = Callable[[str, BaseException], None]
"""Gets the name of the failed operation and the exception."""


MAX_ENDED = 50
"""Removed registrations that may accumulate before they are dropped."""


class Scope:
    """Tasks, timers and registrations of one extension in one session."""

    def __init__(self, clock: Clock, *, name: str, report: Report) -> None:
        self.clock = clock
        self.name = name
        self._report = report
        self._tasks: TaskScope | None = None
        """Created with the first task: stand-ins and most extensions start none."""
        self._registrations: list[Registration] = []
        self._tidied_at = MAX_ENDED
        self._closers: list[Close] = []
        self.closed = False

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Run ``work`` as a task; a failure is reported. A closed scope drops ``work``."""
        if self.closed:  # also while it closes: what starts now would only be cancelled
            return dropped(work, name=f"{self.name}: {name}")
        if self._tasks is None:
            self._tasks = TaskScope(report=self._report)
        # A new context: work that was started inside a run does not belong to that run.
        return Context().run(self._tasks.start, work, name=f"{self.name}: {name}")

    def every(self, seconds: float, tick: Close) -> Registration:
        """Call ``tick`` periodically; a failure is reported, and the timer continues."""

        async def go_on() -> None:
            while timer.active:
                await self.clock.sleep(seconds)
                await self._run_contained("timer", tick)

        def stop() -> None:
            # A tick may remove its own timer. The loop ends after the tick then: cancelling the
            # task would cancel the rest of the tick.
            if task is not asyncio.current_task() and not task.done():
                task.cancel()

        task = self.spawn(go_on(), name="timer")
        timer = self.register(stop)
        return timer

    def watch_folder(self, folder: Path, on_change: Callable[[], None]) -> Registration | None:
        """Call ``on_change`` after changes of the entries of a folder.

        Returns ``None`` if the system has no notifications for it; then poll.
        """
        close = watch_folder(folder, on_change)
        return None if close is None else self.register(close)

    def inner(self, name: str) -> Scope:
        """A scope with the same clock and report function; the caller closes it."""
        return Scope(self.clock, name=f"{self.name}: {name}", report=self._report)

    def on_close(self, close: Close) -> None:
        """Call ``close`` when the scope is closed, in reverse order of registration."""
        self._closers.append(close)

    def register(self, end: Callable[[], None]) -> Registration:
        """Return a registration that ``end`` removes, at the latest when the scope is closed."""
        return self.keep(Registration(end))

    def keep(self, registration: Registration) -> Registration:
        """Remove a registration when the scope is closed. Returns it."""
        if (
            len(self._registrations) >= self._tidied_at
        ):  # keeps repeated registrations from piling up
            self._registrations = [earlier for earlier in self._registrations if earlier.active]
            self._tidied_at = MAX_ENDED + 2 * len(self._registrations)
        self._registrations.append(registration)
        return registration

    def take_back(self) -> None:
        """Remove all registrations; tasks continue."""
        for registration in reversed(self._registrations):
            registration.remove()
        self._registrations.clear()

    async def close(self) -> None:
        """Remove all registrations, cancel tasks, and call the close functions."""
        if self.closed:
            return
        self.closed = True
        self.take_back()
        if self._tasks is not None:
            await self._tasks.close()
        while self._closers:
            await self._run_contained("close", self._closers.pop())

    async def _run_contained(self, what: str, work: Close) -> None:
        try:
            await contained(work)
        except Exception as error:
            self._report(f"{self.name}: {what}", error)


class RunScopes:
    """The scopes that end with the current run, one for each scope of an extension."""

    KINDS = (AgentEnd,)

    def __init__(self) -> None:
        self._scopes: dict[Scope, Scope] = {}

    def inner(self, outer: Scope) -> Scope:
        """Return the scope within ``outer`` that ends with the current run."""
        if outer not in self._scopes:
            self._scopes[outer] = outer.inner("run")
        return self._scopes[outer]

    async def handle_event(self, event: object) -> None:
        """Close all scopes at the end of a run."""
        await self.close()

    async def close(self) -> None:
        """Close all scopes."""
        scopes, self._scopes = self._scopes, {}
        for scope in scopes.values():
            await scope.close()


class HostConnection:
    """The session, workspace, registry and user interface of the extension host; replaceable."""

    def __init__(
        self,
        cwd: Path,
        mode: Mode,
        *,
        depth: int = 0,
        task: TaskOptions | None = None,
        parent: HostConnection | None = None,
    ) -> None:
        self.parent = parent
        """The connection of the session in which the session is nested."""
        self.task = task or TaskOptions()
        """The task that the session works on."""
        self.depth = depth
        """How many sessions the session is nested in."""
        self.cwd = cwd
        """The directory in which pi was started."""
        self.mode = mode
        self.ui = ExtensionUI()
        self.session: SessionPort | None = None
        """The session; ``None`` while extensions are loaded before it."""
        self.workspace: WorkspacePort | None = None
        """The workspace before the session exists; ``None`` until the project is opened."""
        self.registry: ModelRegistry | None = None
        """The model registry; set before the session exists."""
        self.run_scopes = RunScopes()


class SessionLink:
    """The connection of one extension to its session; the only place that checks staleness."""

    def __init__(self, scope: Scope, connection: HostConnection) -> None:
        self.scope = scope
        self._connection = connection

    @property
    def run_scope(self) -> Scope:
        """A scope that is closed with the current run. Raises ``ExtensionError`` without a run."""
        if self.session.runs.idle:
            raise ExtensionError("No run is active.", hint="pi.scope lasts as long as the session.")
        return self._connection.run_scopes.inner(self.scope)

    @property
    def cwd(self) -> Path:
        """The directory of the session; before it exists, the one in which pi was started."""
        if self._connection.session is None and not self.scope.closed:
            return self._connection.cwd
        return self.session.workspace.cwd

    @property
    def workspace(self) -> WorkspacePort:
        """The workspace of the session; also before it exists, for triggered extensions."""
        if self._connection.session is None and self._connection.workspace is not None:
            self.require_open()
            return self._connection.workspace
        return self.session.workspace

    @property
    def is_loading(self) -> bool:
        """Whether the workspace exists, but not the session."""
        connection = self._connection
        return connection.session is None and connection.workspace is not None

    @property
    def registry(self) -> ModelRegistry:
        """The model registry; also before the session exists, for names on the command line."""
        if self._connection.session is None and self._connection.registry is not None:
            self.require_open()
            return self._connection.registry
        return self.session.models.registry

    @property
    def session(self) -> SessionPort:
        """The session. Raises ``StaleSession`` once it was replaced."""
        self.require_open()
        if self._connection.session is None:
            raise ExtensionError(
                "The session does not exist yet: extensions are still loading.",
                hint="Do this in a session_start handler, or later.",
            )
        return self._connection.session

    def require_open(self) -> None:
        """Raise ``StaleSession`` if the session has ended; for calls that need no session."""
        if self.scope.closed:
            raise StaleSession
