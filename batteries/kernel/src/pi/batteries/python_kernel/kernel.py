"""Kernels, which run one call at a time over a connection, and the pool of kernels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias

from pi.extension import PiError, Record, Scope

INTERRUPT_EVERY = 0.5
"""Seconds between interrupts: the first may arrive before the cell has begun, or be caught."""
MAX_INTERRUPTS = 10
"""Interrupts after which the kernel of a cell that ignores them is killed."""
IDLE_SECONDS = 300.0
MAX_KERNELS = 4

Frame: TypeAlias = dict[str, Any]
"""``stream``, ``display``, ``error`` or ``input``, as the runner describes them."""
OnFrame: TypeAlias = Callable[[Frame], None]


class KernelDied(PiError):
    """The kernel has ended; its variables are lost."""


class KernelUnavailable(PiError):
    """A kernel cannot be started."""


class SetupCode(Record):
    """Code that runs in a new kernel before its first cell: helpers and modules of the user."""

    name: str
    code: str


class Connection(Protocol):
    """A connection to a child process (``process.py``) or a Jupyter gateway (``backends.py``)."""

    @property
    def is_alive(self) -> bool:
        """Whether the kernel is known to run."""

    async def open(self) -> None:
        """Start the kernel. Raises ``KernelDied`` or ``KernelUnavailable``."""

    async def execute(self, code: str, name: str, on_frame: OnFrame) -> str:
        """Run code; returns ``ok``, ``error`` or ``interrupted``. Raises ``KernelDied``.

        ``on_frame`` gets everything that the code has written before the status is returned.
        """

    async def interrupt(self) -> None:
        """Interrupt the running code."""

    async def close(self) -> None:
        """End the kernel and the processes that it has started."""


Connect: TypeAlias = Callable[[Scope], Connection]
"""Creates the connection of a kernel, which ends with the scope."""


class Kernel:
    """One kernel, started with the first cell. It runs one call at a time."""

    def __init__(
        self, connect: Connect, scope: Scope, *, label: str, setup: Sequence[SetupCode] = ()
    ) -> None:
        self._connect = connect
        self._outer = scope
        self._label = label
        self._setup = setup
        self._scope: Scope | None = None
        self._connection: Connection | None = None
        self._crashes = 0
        self._notices: list[Frame] = []
        """Errors of setup code, which the first cell shows before its own output."""
        self._queue = asyncio.Lock()
        self._users = 0
        self.used_at = scope.clock.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether it was started and is alive."""
        return self._connection is not None and self._connection.is_alive

    @property
    def is_busy(self) -> bool:
        """Whether a call uses it or waits for it."""
        return self._users > 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other call uses the kernel, and keep it for the ``with`` block."""
        self._users += 1
        try:
            async with self._queue:
                yield
        finally:
            self._users -= 1
            self.used_at = self._outer.clock.monotonic()

    async def run(self, code: str, on_frame: OnFrame) -> str:
        """Run a cell; returns its status. Cancelling it interrupts the cell and keeps the state.

        Raises ``KernelDied`` if the kernel dies; the cell is not run again. The next cell starts
        the kernel again, unless it has crashed twice in a row.
        """
        connection = await self._running()
        for frame in self._notices:
            on_frame(frame)
        self._notices = []
        status = await self._execute(connection, code, "", on_frame)
        self._crashes = 0
        return status

    async def start(self) -> None:
        """Start the kernel before its first cell, if it does not run."""
        await self._running()

    async def close(self) -> None:
        """End the kernel; the next cell starts a new one."""
        connection, scope = self._connection, self._scope
        self._connection = self._scope = None
        try:
            if connection is not None:
                await connection.close()
        finally:
            if scope is not None:
                await scope.close()

    async def reset(self) -> None:
        """End the kernel and forget its crashes."""
        self._crashes = 0
        await self.close()

    async def _running(self) -> Connection:
        if self._connection is not None and self._connection.is_alive:
            return self._connection
        if self._connection is not None:  # it has ended between two cells
            self._crashes += 1
        if self._crashes > 1:
            raise KernelDied(
                f"The {self._label} kernel has crashed repeatedly.",
                hint="Start a new one with reset.",
            )
        await self.close()
        self._scope = self._outer.inner("kernel")
        connection = self._connection = self._connect(self._scope)
        try:
            await connection.open()
        except BaseException as error:
            self._crashes += isinstance(error, KernelDied)
            await self.close()
            raise
        try:
            for setup in self._setup:
                await self._set_up(connection, setup)
        except BaseException:  # the next cell must not run in a kernel that is not set up
            await self.close()
            raise
        return connection

    async def _set_up(self, connection: Connection, setup: SetupCode) -> None:
        written: list[Frame] = []
        status = await self._execute(connection, setup.code, setup.name, written.append)
        if status != "ok":  # the model and the user see why a module is missing
            self._notices += [{"type": "stream", "text": f"[{setup.name} failed]\n"}, *written]

    async def _execute(
        self, connection: Connection, code: str, name: str, on_frame: OnFrame
    ) -> str:
        running = asyncio.ensure_future(connection.execute(code, name, on_frame))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            try:
                await self._interrupt(connection, running)
            finally:
                # Interrupts were ignored, or we were cancelled again: stop reading the connection.
                if not running.done():
                    running.cancel()
                    await self.close()
            raise
        except KernelDied:
            self._crashes += 1
            await self.close()
            raise

    async def _interrupt(self, connection: Connection, running: asyncio.Future[str]) -> None:
        """Interrupt the cell until it ends, at most ``MAX_INTERRUPTS`` times."""
        for _ in range(MAX_INTERRUPTS):
            await connection.interrupt()
            done, _pending = await asyncio.wait([running], timeout=INTERRUPT_EVERY)
            if done:
                if not running.cancelled() and running.exception() is not None:
                    self._crashes += 1
                    await self.close()
                return


class KernelPool:
    """The kernels of this process by language, session and folder. Idle ones are closed."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.users: set[object] = set()
        """The open sessions that use the pool."""
        self.http: Callable[[], Any] = lambda: None
        """Returns the HTTP client of an open session: kernels of a gateway outlive theirs."""
        self._kernels: dict[Hashable, Kernel] = {}

    @property
    def running(self) -> int:
        """The number of running kernels."""
        return sum(kernel.is_running for kernel in self._kernels.values())

    def find(self, key: Hashable) -> Kernel | None:
        """Return the kernel of ``key``, if there is one."""
        return self._kernels.get(key)

    async def get(self, key: Hashable, make: Callable[[Scope], Kernel]) -> Kernel:
        """Return the kernel of ``key``; a new one may evict the one that was idle longest."""
        kernel = self._kernels.pop(key, None)
        if kernel is None:
            kernel = make(self.scope)
            self._kernels[key] = kernel
            await self._evict()
            self.scope.spawn(self._close_idle(key, kernel), name="idle kernel")
        self._kernels[key] = kernel
        return kernel

    async def close_idle(self) -> None:
        """Close all kernels that are not in use, to free their processes and descriptors."""
        for key in [key for key, kernel in self._kernels.items() if not kernel.is_busy]:
            await self._kernels[key].close()

    async def close(self) -> None:
        """Close all kernels."""
        kernels, self._kernels = list(self._kernels.values()), {}
        for kernel in kernels:
            await kernel.close()

    async def _evict(self) -> None:
        while len(self._kernels) > MAX_KERNELS:
            *older, _new = self._kernels
            idle = [key for key in older if not self._kernels[key].is_busy]
            if not idle:
                return
            oldest = min(idle, key=lambda key: self._kernels[key].used_at)
            await self._kernels.pop(oldest).close()

    async def _close_idle(self, key: Hashable, kernel: Kernel) -> None:
        while self._kernels.get(key) is kernel:
            idle = 0.0 if kernel.is_busy else self.scope.clock.monotonic() - kernel.used_at
            if idle >= IDLE_SECONDS:
                del self._kernels[key]
                await kernel.close()
                return
            await self.scope.clock.sleep(IDLE_SECONDS - idle)
