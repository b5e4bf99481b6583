"""Runs a command in a terminal that the user sees and types into, on an overlay of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pi.extension import (
    Child,
    ChildTerminal,
    ExtensionAPI,
    OutputSink,
    PiError,
    Record,
    SpawnRequest,
    ToolContext,
)

READ_SIZE = 65536
GRACE_SECONDS = 1.0
MISSING = (
    "The program has no window: pyghostty, which draws terminals, is not installed. Run"
    " `pip install 'pi-harness[pty]'`."
)


class TerminalEnd(Record):
    """How a program in a terminal ended."""

    exit_code: int
    timed_out: bool = False
    stopped: bool = False
    """Whether the user ended it."""
    screen: str | None = None
    """The text of the terminal, if the program drew on a screen of its own."""


class TerminalRun:
    """One program in a terminal."""

    def __init__(self, pi: ExtensionAPI, request: SpawnRequest, sink: OutputSink) -> None:
        self._pi = pi
        self._request = request
        self._sink = sink
        self._terminal = ChildTerminal()
        self._keys: asyncio.Queue[Callable[[], Any]] = asyncio.Queue()
        self._emulator: Any = None
        self._was_full_screen = False
        self._stopping = asyncio.Event()
        self._paint: Callable[[], None] | None = None
        """Draws the overlay again, once there is one."""

    async def run(self, title: str, ctx: ToolContext, timeout: float | None) -> TerminalEnd:
        """Run the program to its end, in an overlay if that is possible."""
        self._emulator = await self._load_emulator()
        scope = self._pi.scope.inner("terminal")
        overlay: asyncio.Task[Any] | None = None
        try:
            child = await self._pi.spawn(
                self._request, terminal=self._terminal, call_id=ctx.call_id, scope=scope
            )
            if self._emulator is not None:
                overlay = asyncio.create_task(self._show(title))
            scope.spawn(self._send_keys(), name="keys of a terminal")
            scope.spawn(self._stop_on_request(child), name="end of a terminal")
            return await self._follow(child, timeout)
        finally:
            if overlay is not None:
                overlay.cancel()
                with suppress(asyncio.CancelledError):
                    await overlay
            await scope.close()

    async def _follow(self, child: Child, timeout: float | None) -> TerminalEnd:
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await self._listen(child)
        except TimeoutError:
            timed_out = True
            await child.terminate(grace=GRACE_SECONDS)
            await self._listen(child)
        except asyncio.CancelledError:
            await child.terminate(grace=GRACE_SECONDS)
            await self._listen(child)
            raise
        end = await child.wait()
        code = 128 + (end.signal or 0) if end.exit_code is None else end.exit_code
        screen = self._emulator.contents() if self._was_full_screen else None
        return TerminalEnd(
            exit_code=code, timed_out=timed_out, stopped=self._stopping.is_set(), screen=screen
        )

    async def _listen(self, child: Child) -> None:
        while data := await child.output.read(READ_SIZE):
            self._terminal.received(data)
            self._sink.write(data)
            if self._emulator is not None:
                self._emulator.feed(data)
                self._was_full_screen |= self._emulator.is_full_screen
                if self._paint is not None:
                    self._paint()

    # The overlay ----------------------------------------------------------------------------------

    async def _load_emulator(self) -> Any:
        if not self._pi.context.has_ui:
            return None
        # Deferred: the emulator takes 0.3 s to import, so it is imported in a thread.
        from pi.batteries.shell_session import views

        try:
            emulator = await asyncio.to_thread(views.Emulator)
        except ImportError:
            self._pi.context.ui.notify(MISSING, "warning")
            return None
        emulator.on_reply(lambda data: self._type(data))
        return emulator

    async def _show(self, title: str) -> None:
        from pi.batteries.shell_session.views import TerminalOverlay  # deferred: see above

        def make(tui: Any, theme: Any, keys: Any, done: Any) -> TerminalOverlay:
            self._paint = tui.request_render
            return TerminalOverlay(
                self._emulator,
                tui,
                theme,
                title=title,
                type_keys=self._type,
                resize=self._resize,
                stop=self._stopping.set,
            )

        place = {"width": "100%", "max_height": "100%", "anchor": "top-left"}
        try:
            await self._pi.context.ui.custom(make, overlay=True, overlay_options=place)
        except PiError as error:
            self._pi.context.ui.notify(f"Cannot show the terminal: {error.message}", "warning")

    def _type(self, data: bytes) -> None:
        self._keys.put_nowait(lambda: self._terminal.send(data))

    def _resize(self, columns: int, rows: int) -> None:
        self._keys.put_nowait(lambda: self._terminal.resize(columns, rows))

    async def _send_keys(self) -> None:
        """Pass keys and sizes on, one after the other: their order matters."""
        while True:
            send = await self._keys.get()
            await send()

    async def _stop_on_request(self, child: Child) -> None:
        await self._stopping.wait()
        await child.terminate(grace=GRACE_SECONDS)
