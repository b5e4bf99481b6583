"""Tool calls: cells of the model or the user, run in the session's kernel with one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from pi.batteries.python_kernel.backends import Backend
from pi.batteries.python_kernel.cells import Cell, Transcript
from pi.batteries.python_kernel.config import KernelConfig
from pi.batteries.python_kernel.kernel import (
    IDLE_SECONDS,
    Frame,
    Kernel,
    KernelDied,
    KernelPool,
    KernelUnavailable,
)
from pi.extension import (
    ExtensionAPI,
    Meta,
    PiError,
    Record,
    Scope,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
)

DEFAULT_TIMEOUT, LEAST_TIMEOUT, MAX_TIMEOUT = 30, 1, 600
UPDATE_EVERY = 0.1
"""Seconds between two updates of a running call."""
SHARED_KEY = "kernels"


class CellParameters(Record, rename=None):
    """One cell."""

    code: Annotated[str, Meta(description="Code of the cell")]
    title: Annotated[str, Meta(description="What the cell does, in a few words")] = ""


class CallParameters(Record, rename=None):
    """Arguments of the tools ``python`` and ``javascript``."""

    cells: Annotated[tuple[CellParameters, ...], Meta(description="Cells, run in order")]
    timeout: Annotated[float, Meta(description="Seconds for the whole call, 1 to 600")] = (
        DEFAULT_TIMEOUT
    )
    cwd: Annotated[str, Meta(description="Working directory of the kernel")] = ""
    reset: Annotated[bool, Meta(description="Start a new kernel before the first cell")] = False


class CellSession:
    """The kernels of one language in one session of pi."""

    def __init__(self, pi: ExtensionAPI, config: KernelConfig, backend: Backend) -> None:
        self._pi = pi
        self._config = config
        self.backend = backend
        self._pool: KernelPool | None = None

    async def call(
        self,
        params: CallParameters,
        ctx: ToolContext,
        on_change: Callable[[Transcript], None] | None = None,
    ) -> ToolResult:
        """Run the cells of a call; ``on_change`` gets the transcript after every change."""
        if not params.cells:
            raise ToolFailed("There is no cell: cells needs at least one item.")
        seconds = min(max(params.timeout, LEAST_TIMEOUT), MAX_TIMEOUT)
        cwd = self._folder(params.cwd)
        cells = [Cell(index=n, code=c.code, title=c.title) for n, c in enumerate(params.cells)]
        with self._pi.context.artifacts.sink(self.backend.tool) as sink:
            transcript = Transcript(self.backend.tool, cells, sink)
            async with updates(ctx, transcript, self._pi.scope, on_change) as changed:
                error = await self._run(transcript, changed, cwd, seconds, reset=params.reset)
        text = sink.text.rstrip("\n")
        result_text = "\n\n".join(part for part in (text, error) if part) or "(no output)"
        return ToolResult(
            content=(Text(text=result_text), *transcript.images),
            details=transcript.details,
            is_error=bool(error),
        )

    async def warm(self) -> None:
        """Start the kernel of the session's folder, so that the first cell need not wait."""
        cwd = self._pi.context.cwd
        if self._config.kernel_mode == "per-call" or not self.backend.is_prepared(cwd):
            return
        try:
            await self.backend.prepare(cwd)
            kernel = await self._kernel(cwd)
            async with kernel.turn():
                await kernel.start()
        except (KernelDied, KernelUnavailable) as error:  # the first cell reports it
            self._pi.log.info("%s is not started early: %s", self.backend.tool, error.message)

    async def reset(self) -> bool:
        """End the kernel of the session's folder. Returns False if there is none."""
        pool = await self._shared_pool()
        kernel = pool.find(self._key(self._pi.context.cwd))
        if kernel is None or not kernel.is_running:
            return False
        async with kernel.turn():
            await kernel.reset()
        return True

    async def describe(self) -> str:
        """One line about the kernel of the session's folder."""
        pool, cwd = await self._shared_pool(), self._pi.context.cwd
        kernel = pool.find(self._key(cwd))
        state = "not started"
        if kernel is not None and kernel.is_running:
            state = "busy" if kernel.is_busy else "idle"
        return f"{self.backend.label}: {state}, {self.backend.describe(cwd)}"

    def _folder(self, path: str) -> Path:
        cwd = self._pi.context.cwd / path
        if not cwd.exists():
            raise ToolFailed(f"Working directory does not exist: {cwd}")
        if not cwd.is_dir():
            raise ToolFailed(f"Working directory is not a directory: {cwd}")
        return cwd

    async def _run(
        self,
        transcript: Transcript,
        changed: Callable[[], None],
        cwd: Path,
        seconds: float,
        *,
        reset: bool,
    ) -> str:
        """Run all cells within one deadline. Returns the problem, or an empty string."""
        total, index = len(transcript.cells), 0
        try:
            # Before the deadline starts: the user may have to answer a consent dialog.
            await self.backend.prepare(cwd)
            # One deadline for the start of the kernel, its queue and all cells.
            async with asyncio.timeout(seconds):
                async with self._held_kernel(cwd) as kernel:
                    if reset:
                        await kernel.reset()
                    for index in range(total):
                        await self._cell(kernel, transcript, changed, index)
                        if transcript.cells[index].status != "ok":
                            return _failure_text(transcript.cells, index)
        except TimeoutError:
            transcript.is_cancelled = True
            transcript.end(index, "interrupted", round(seconds * 1000))
            return f"Command timed out after {seconds:g} seconds"
        except (KernelDied, PiError) as error:
            transcript.end(index, "error", 0)
            return f"{error.message}{' ' + error.hint if error.hint else ''}"
        finally:
            changed()
        return ""

    async def _cell(
        self, kernel: Kernel, transcript: Transcript, changed: Callable[[], None], index: int
    ) -> None:
        clock = self._pi.scope.clock
        transcript.begin(index)
        changed()
        started_at = clock.monotonic()

        def add(frame: Frame) -> None:
            transcript.add(index, frame)
            changed()

        try:
            status = await kernel.run(transcript.cells[index].code, add)
        except asyncio.CancelledError:
            transcript.is_cancelled = True
            transcript.end(index, "interrupted", round((clock.monotonic() - started_at) * 1000))
            raise
        if transcript.input_requested:
            status = "error"
        transcript.end(index, status, round((clock.monotonic() - started_at) * 1000))

    @asynccontextmanager
    async def _held_kernel(self, cwd: Path) -> AsyncIterator[Kernel]:
        """Yield the kernel of a folder, locked for this call. "per-call" mode: a new kernel."""
        if self._config.kernel_mode == "per-call":
            pool = await self._shared_pool()
            kernel = self.backend.make(cwd, pool.scope, pool)
            try:
                yield kernel
            finally:
                await kernel.close()
            return
        kernel = await self._kernel(cwd)
        async with kernel.turn():
            yield kernel

    async def _kernel(self, cwd: Path) -> Kernel:
        pool = await self._shared_pool()
        return await pool.get(self._key(cwd), lambda scope: self.backend.make(cwd, scope, pool))

    def _key(self, cwd: Path) -> tuple[str, str, str]:
        session = self._pi.context.session_manager.get_session_id()
        return (self.backend.tool, session, str(cwd))

    async def _shared_pool(self) -> KernelPool:
        if self._pool is None:
            # Kernels outlive /new, so that /resume finds the variables of its session.
            self._pool = await self._pi.shared(SHARED_KEY, _make_pool, linger=IDLE_SECONDS)
            self._pool.users.add(self)
        self._pool.http = lambda: self._pi.http
        return self._pool

    async def shut_down(self, *, is_end: bool) -> None:
        """Leave the pool; at the end of pi the last session deletes the kernels of a gateway.

        The pool closes its other kernels later, when requests are no longer possible.
        """
        if self._config.gateway_url:
            pool = await self._shared_pool()
            pool.users.discard(self)
            if is_end and not pool.users:
                await pool.close()


async def _make_pool(scope: Scope) -> KernelPool:
    pool = KernelPool(scope)
    scope.on_close(pool.close)
    return pool


def _failure_text(cells: Sequence[Cell], index: int) -> str:
    if len(cells) == 1:
        return "The cell failed."
    title = f" ({cells[index].title})" if cells[index].title else ""
    rest = len(cells) - index - 1
    return f"Cell {index + 1} of {len(cells)}{title} failed." + (
        f" {rest} did not run." if rest else ""
    )


@asynccontextmanager
async def updates(
    ctx: ToolContext,
    transcript: Transcript,
    scope: Scope,
    on_change: Callable[[Transcript], None] | None,
) -> AsyncIterator[Callable[[], None]]:
    """Yield a function that schedules an update with the output so far, throttled."""
    is_due = asyncio.Event()

    async def publish() -> None:
        while True:
            await is_due.wait()
            is_due.clear()
            text = "".join(cell.output for cell in transcript.cells)
            ctx.update(ToolResult.of(text, details=transcript.details))
            if on_change is not None:
                on_change(transcript)
            await asyncio.sleep(UPDATE_EVERY)

    task = scope.spawn(publish(), name="cell updates")
    try:
        yield is_due.set
    finally:
        task.cancel()
