"""The running servers of this process: shared by sessions, started lazily, restarted, ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from pi.batteries.lsp.connection import within
from pi.batteries.lsp.launch import Launch, is_below
from pi.batteries.lsp.server import LanguageServer
from pi.extension import Child, ExtensionAPI, Json, PiError, Scope

TICK_SECONDS = 5.0
"""How often memory and idle time are checked."""
MAX_CRASHES = 5
"""Crashes in ``CRASH_SECONDS`` after which a server is not started again."""
CRASH_SECONDS = 600.0
MAX_PAUSE = 60.0

State: TypeAlias = Literal["starting", "ready", "stopped", "failed"]
Fault: TypeAlias = Literal["", "start", "crash", "memory"]


class ServerUnavailable(PiError):
    """A server does not run: it crashed, failed to start, or is paused before a retry."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault: Fault = fault


class Slot:
    """The server of one row and root: its process, and its crashes so far."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.state: State = "stopped"
        self.server: LanguageServer | None = None
        self.scope: Scope | None = None
        self.starting: asyncio.Task[LanguageServer | ServerUnavailable] | None = None
        self.crashes: list[float] = []
        self.retry_at = 0.0
        self.fault: Fault = ""
        self.problem = ""
        self.memory: int | None = None


class ServerPool:
    """Servers by row, root and configuration. Sessions ``join`` it and ``leave`` it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._clock = scope.clock
        self._sessions: list[PoolUser] = []
        self.slots: dict[str, Slot] = {}
        scope.every(TICK_SECONDS, self._tick)
        scope.on_close(self._close)

    def join(self, user: PoolUser) -> None:
        """Add a session. Its settings and spawn wraps apply to servers that it starts."""
        self._sessions.append(user)

    def leave(self, user: PoolUser) -> None:
        """Remove a session that ends."""
        self._sessions.remove(user)

    async def get(self, launch: Launch, user: PoolUser) -> LanguageServer:
        """The running server; it is started if necessary. Raises ``ServerUnavailable``."""
        slot = self.slots.setdefault(launch.key, Slot(launch))
        if slot.server is not None:
            if slot.server.connection.end_reason is None:
                return slot.server
            await self._crashed(slot, slot.server)
        if slot.starting is None:
            self._check_pause(slot)
            slot.state = "starting"
            slot.starting = self._scope.spawn(self._start(slot, user), name=launch.row.name)
        # Shielded: the start continues if one of its waiters is cancelled.
        started = await asyncio.shield(slot.starting)
        if isinstance(started, ServerUnavailable):
            raise started
        return started

    async def record_end(self, launch: Launch) -> None:
        """Record the crash of a server whose connection has ended, unless it is recorded."""
        slot = self.slots.get(launch.key)
        server = slot.server if slot is not None else None
        if slot is not None and server is not None and server.connection.end_reason is not None:
            await self._crashed(slot, server)

    async def reload(self, name: str = "") -> list[str]:
        """End servers and reset their crashes; the next use starts them. Returns their names."""
        chosen = [slot for slot in self.slots.values() if name in ("", slot.launch.row.name)]
        for slot in chosen:
            await self._stop(slot)
            slot.crashes, slot.retry_at, slot.fault, slot.problem = [], 0.0, "", ""
        return sorted({slot.launch.row.name for slot in chosen})

    def _check_pause(self, slot: Slot) -> None:
        if slot.fault and self._clock.monotonic() < slot.retry_at:
            raise ServerUnavailable(slot.fault, slot.problem)
        if len(slot.crashes) >= MAX_CRASHES:
            raise ServerUnavailable(slot.fault, f"{slot.problem} It is not started again.")

    async def _start(self, slot: Slot, user: PoolUser) -> LanguageServer | ServerUnavailable:
        """Start a server. A failure is returned, not raised: several callers may wait for it."""
        row, scope = slot.launch.row, self._scope.inner(slot.launch.row.name)
        slot.scope = scope
        try:
            child = await user.spawn(slot.launch, scope)
            server = LanguageServer(
                row,
                slot.launch.root,
                child,
                clock=self._clock,
                apply_edit=self._apply_edit,
                on_progress=self._on_progress,
            )
            scope.spawn(server.connection.run(), name="reader")
            await within(self._clock, row.warmup_timeout_ms / 1000, server.start())
        except (PiError, TimeoutError) as error:
            seconds = row.warmup_timeout_ms / 1000
            why = getattr(error, "message", f"it did not answer within {seconds:g} s")
            await self._failed(slot, "start", f"{row.name} did not start: {why}")
            return ServerUnavailable("start", slot.problem)
        finally:
            slot.starting = None
        slot.server, slot.state = server, "ready"
        scope.spawn(self._watch(slot, server), name="watch")
        self._on_progress()
        return server

    async def _watch(self, slot: Slot, server: LanguageServer) -> None:
        """Record a crash when the process of a server ends by itself."""
        await server.child.wait()
        # In a task of the pool: _crashed closes the scope of the server, which owns this task.
        self._scope.spawn(self._crashed(slot, server), name="crash")

    async def _crashed(self, slot: Slot, server: LanguageServer) -> None:
        if slot.server is server:  # else its end is already recorded
            server.connection.close("it has ended")
            why = server.connection.end_reason or ""
            await self._failed(slot, "crash", f"{slot.launch.row.name} has crashed: {why}.")

    async def _failed(self, slot: Slot, fault: Fault, message: str) -> None:
        now = self._clock.monotonic()
        slot.crashes = [crash for crash in slot.crashes if now - crash < CRASH_SECONDS] + [now]
        slot.retry_at = now + min(2.0 ** (len(slot.crashes) - 1), MAX_PAUSE)
        slot.fault, slot.problem = fault, message
        await self._stop(slot)
        slot.state = "failed"

    async def _stop(self, slot: Slot) -> None:
        server, scope = slot.server, slot.scope
        slot.server, slot.scope, slot.state, slot.memory = None, None, "stopped", None
        if server is not None:
            server.connection.close("it was stopped")
        if scope is not None:
            await scope.close()
        self._on_progress()

    async def _tick(self) -> None:
        for slot in list(self.slots.values()):
            server, row = slot.server, slot.launch.row
            if server is None:
                continue
            slot.memory = await asyncio.to_thread(server.child.memory)
            limit = max((session.memory_limit for session in self._sessions), default=0)
            if limit and slot.memory is not None and slot.memory > limit:
                used, most = slot.memory // 2**20, limit // 2**20
                text = f"{row.name} used {used} MB of memory; {most} MB are allowed. It was ended."
                await self._failed(slot, "memory", text)
            elif row.idle_timeout_ms and not server.progress:
                idle = self._clock.monotonic() - server.used_at
                if idle * 1000 > row.idle_timeout_ms:
                    await self._stop(slot)

    async def _close(self) -> None:
        for slot in self.slots.values():
            await self._stop(slot)

    async def _apply_edit(self, server: LanguageServer, edit: Json) -> bool:
        return bool(self._sessions) and await self._sessions[-1].apply_edit(server, edit)

    def _on_progress(self) -> None:
        for user in self._sessions:
            user.on_progress()


class PoolUser:
    """A session that uses the pool."""

    def __init__(
        self,
        pi: ExtensionAPI,
        *,
        memory_limit: int,
        apply_edit: Callable[[LanguageServer, Json], object],
        on_progress: Callable[[], None],
    ) -> None:
        self._pi = pi
        self.memory_limit = memory_limit
        self._apply_edit = apply_edit
        self.on_progress = on_progress

    async def apply_edit(self, server: LanguageServer, edit: Json) -> bool:
        """Apply an edit that a server requests. Returns whether that succeeded."""
        result = self._apply_edit(server, edit)
        return bool(await result) if hasattr(result, "__await__") else bool(result)

    async def spawn(self, launch: Launch, scope: Scope) -> Child:
        """Start the process of a server in its root, with the environment of commands."""
        command = [str(launch.program), *launch.row.args]
        if launch.row.multiplex:
            command = await self._multiplexed(command, launch)
        return await self._pi.spawn(
            command, cwd=launch.root, scope=scope, environment="command", kind="lsp"
        )

    async def _multiplexed(self, command: list[str], launch: Launch) -> list[str]:
        """The command line through ``lspmux``, if its server runs on this machine."""
        import shutil  # deferred: few servers are multiplexed

        environ, cwd = self._pi.context.environ, self._pi.context.cwd
        program = shutil.which("lspmux", path=environ.get("PATH", ""))
        if program is None or environ.get("PI_DISABLE_LSPMUX") == "1":
            return command
        # Consent is about the server only: an lspmux of the project is not executed.
        names = (Path(program).absolute(), Path(program).resolve())
        if any(is_below(name, (cwd, launch.root)) for name in names):
            return command
        status = await self._pi.exec([program, "status"], timeout=2)
        if status.code != 0:
            return command
        return [program, "client", "--server-path", command[0], "--", *command[1:]]
