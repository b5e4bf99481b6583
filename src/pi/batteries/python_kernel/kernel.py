"""The process of a kernel: starting it, running cells, interrupting, idle shutdown."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from pi.extension import BadFrame, Child, Clock, PiError, Scope

log = logging.getLogger(__name__)

RUNNER = Path(__file__).with_name("runner.py")
INTERRUPT_EVERY = 0.5
"""Seconds between interrupts: the first may arrive before the cell has begun, or be caught."""
MAX_INTERRUPTS = 10
"""Interrupts after which a cell that ignores them is killed with its kernel."""
LAST_WORDS = 1.0
"""Seconds that the end of a kernel and its last words may take."""
IDLE_SECONDS = 300.0
MAX_KERNELS = 4
MAX_ERRORS = 4000
"""Bytes kept of the end of standard error: what Python says when it crashes."""

Frame: TypeAlias = dict[str, Any]
Start: TypeAlias = Callable[[Scope], Awaitable[Child]]
"""Starts the runner; its life is that of the scope."""


class KernelDied(PiError):
    """The process of the kernel has ended; its variables are lost."""


class Kernel:
    """One runner process, started with the first cell. Cells wait for each other."""

    def __init__(self, start: Start, scope: Scope, *, traced: bool = False) -> None:
        self._start = start
        self._outer = scope
        self._traced = traced
        self._scope: Scope | None = None
        self._child: Child | None = None
        self._errors = b""
        self._error_reader: asyncio.Task[Any] | None = None
        self._cells = 0
        self._crashes = 0
        self._queue = asyncio.Lock()
        self.users = 0
        """Calls that hold or wait for the kernel."""
        self.used_at = scope.clock.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether the process exists."""
        return self._child is not None and not self._child.is_gone

    @property
    def pid(self) -> int | None:
        """The process id of the runner."""
        return None if self._child is None else self._child.pid

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other call uses the kernel, and keep it for the ``with`` block."""
        self.users += 1
        try:
            async with self._queue:
                yield
        finally:
            self.users -= 1
            self.used_at = self._outer.clock.monotonic()

    async def run(self, code: str, on_frame: Callable[[Frame], None]) -> str:
        """Run a cell; returns its status. Cancelling it interrupts the cell and keeps the state.

        ``on_frame`` gets everything that the cell has written before the status is returned.
        """
        try:
            child = await self._running()
            self._cells += 1
            id = self._cells
            await child.write_frame(self._trace("to", {"id": id, "code": code}))
        except (ConnectionError, BadFrame) as error:
            raise await self._died() from error
        reading = asyncio.ensure_future(self._read(child, id, on_frame))
        try:
            status = await asyncio.shield(reading)
        except asyncio.CancelledError:
            try:
                await self._interrupt(child, reading)
            finally:
                if not reading.done():  # cancelled again: nothing may read beside the next cell
                    reading.cancel()
                    await self.close()
            raise
        self._crashes = 0
        return status

    async def close(self) -> None:
        """End the process with everything that it has started."""
        scope, self._scope, self._child = self._scope, None, None
        if scope is not None:
            await scope.close()

    async def reset(self) -> None:
        """End the process; the next cell starts a new one."""
        self._crashes = 0
        await self.close()

    async def _running(self) -> Child:
        if self._child is not None and self.is_running:
            return self._child
        if self._child is not None:  # it has ended between two cells
            self._crashes += 1
        if self._crashes > 1:
            raise KernelDied(
                "The Python kernel has crashed repeatedly.", hint="Start a new one with reset."
            )
        await self.close()
        self._scope, self._errors = self._outer.inner("kernel"), b""
        try:
            child = await self._start(self._scope)
            self._error_reader = self._scope.spawn(self._collect_errors(child), name="errors")
            self._child = child
            ready = await self._next(child)
        except asyncio.CancelledError:
            await self.close()
            raise
        if ready is None or ready["type"] != "ready":
            raise await self._died()
        return child

    async def _read(self, child: Child, id: int, on_frame: Callable[[Frame], None]) -> str:
        while (frame := await self._next(child)) is not None:
            if frame["type"] == "done" and frame["id"] == id:
                return str(frame["status"])
            on_frame(frame)
        raise await self._died()

    async def _interrupt(self, child: Child, reading: asyncio.Future[str]) -> None:
        """Interrupt the cell until it ends; kill the kernel if it does not."""
        for _ in range(MAX_INTERRUPTS):
            child.interrupt()
            done, _pending = await asyncio.wait([reading], timeout=INTERRUPT_EVERY)
            if done:
                if not reading.cancelled():
                    reading.exception()  # a kernel that died is started again by the next cell
                return

    async def _died(self) -> KernelDied:
        self._crashes += 1
        child = self._child
        reason = "it has ended"
        if child is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    ended = await child.wait()
                    how = ended.signal and f"signal {ended.signal}"
                    reason = how or f"exit code {ended.exit_code}"
                    if self._error_reader is not None:
                        await asyncio.wait([self._error_reader])
        await self.close()
        said = self._errors.decode("utf-8", "replace").strip()
        return KernelDied(
            f"The Python kernel died ({reason}); its variables are lost."
            + (f"\n{said}" if said else "")
        )

    async def _collect_errors(self, child: Child) -> None:
        while data := await child.errors.read(MAX_ERRORS):
            self._errors = (self._errors + data)[-MAX_ERRORS:]

    async def _next(self, child: Child) -> Frame | None:
        try:
            data = await child.read_frame()
            if data is None:
                return None
            frame: Frame = json.loads(data)
        except (BadFrame, ValueError):
            return None  # it died inside a frame, or something else wrote to its output
        self._trace("from", frame)
        return frame

    def _trace(self, direction: str, frame: Frame) -> bytes:
        data = json.dumps(frame).encode()
        if self._traced:
            log.warning("python kernel %s: %s", direction, data[:2000].decode())
        return data


class KernelPool:
    """The kernels of this pi, by session and folder. Idle ones are closed, also while pi works."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kernels: dict[Hashable, Kernel] = {}

    @property
    def clock(self) -> Clock:
        """The clock of the idle time."""
        return self._scope.clock

    async def get(self, key: Hashable, start: Start, *, traced: bool = False) -> Kernel:
        """Return the kernel of ``key``. The one that was idle longest yields to a new one."""
        kernel = self._kernels.pop(key, None)
        if kernel is None:
            kernel = Kernel(start, self._scope, traced=traced)
            idle = [name for name, each in self._kernels.items() if not each.users]
            if len(self._kernels) >= MAX_KERNELS and idle:
                oldest = min(idle, key=lambda name: self._kernels[name].used_at)
                await self._kernels.pop(oldest).close()
            self._scope.spawn(self._close_idle(key, kernel), name="idle kernel")
        self._kernels[key] = kernel
        return kernel

    def fresh(self, start: Start, *, traced: bool = False) -> Kernel:
        """Return a kernel for one call, which the caller closes."""
        return Kernel(start, self._scope, traced=traced)

    async def close(self) -> None:
        """Close all kernels."""
        kernels, self._kernels = list(self._kernels.values()), {}
        for kernel in kernels:
            await kernel.close()

    async def _close_idle(self, key: Hashable, kernel: Kernel) -> None:
        while self._kernels.get(key) is kernel:
            idle = 0.0 if kernel.users else self.clock.monotonic() - kernel.used_at
            if idle >= IDLE_SECONDS:
                del self._kernels[key]
                await kernel.close()
                return
            await self.clock.sleep(IDLE_SECONDS - idle)
