"""Code of the user: ``$ code`` and ``$$ code`` in the editor, and ``/python``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pi.batteries.python_kernel.calls import (
    MAX_TIMEOUT,
    CallParameters,
    CellParameters,
    CellSession,
)
from pi.batteries.python_kernel.cells import Transcript
from pi.extension import CommandContext, ExtensionAPI, InputMode, Text, ToolContext, ToolResult

WIDGET = "python cell"
ESCAPE = ("\x1b", "\x1b[27u", "\x1b[27;1u", "\x1b[27;1:1u")
"""Escape as terminals send it, with and without the Kitty protocol."""
WORDS = {
    "interrupt": "interrupt the cell that you typed",
    "reset": "end the kernel; its variables are lost",
}


class TypedCode:
    """Runs code that the user types, in the kernel that the model uses."""

    def __init__(self, pi: ExtensionAPI, session: CellSession) -> None:
        self._pi = pi
        self._session = session
        self._running: set[asyncio.Task[ToolResult]] = set()

    def register(self) -> None:
        """Take texts that begin with ``$``, and offer ``/python``."""
        tool = self._session.backend.tool
        self._pi.add_input_mode("$", InputMode(label=tool, run=self._shown))
        label = f"{tool}, not for the model"
        self._pi.add_input_mode("$$", InputMode(label=label, run=self._excluded))
        self._pi.register_command(
            tool,
            self.command,
            description=f"{tool} kernel: /{tool}, /{tool} interrupt, /{tool} reset",
            completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
        )

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/python``."""
        match arguments.strip():
            case "":
                ctx.ui.notify(await self._session.describe())
            case "interrupt":
                if not self._interrupt():
                    ctx.ui.notify("No cell of yours is running.", "warning")
            case "reset":
                self._interrupt()
                found = await self._session.reset()
                ctx.ui.notify("The kernel has ended." if found else "No kernel is running.")
            case _:
                usage = "; ".join(f"{word}: {text}" for word, text in WORDS.items())
                ctx.ui.notify(f"Unknown argument. {usage}", "warning")

    async def _shown(self, code: str, ctx: CommandContext) -> None:
        await self.run(code.strip(), ctx, excluded=False)

    async def _excluded(self, code: str, ctx: CommandContext) -> None:
        await self.run(code.strip(), ctx, excluded=True)

    async def run(self, code: str, ctx: CommandContext, *, excluded: bool) -> None:
        """Run code. The model sees it with its next request unless ``excluded``."""
        if not code:
            return
        result = await self._result(code)
        tool = self._session.backend.tool
        details = result.details if isinstance(result.details, dict) else {}
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        details = {**details, "output": text, "excludeFromContext": excluded}
        if ctx.mode == "print":
            ctx.write(f"{text}\n")
        if excluded:
            await self._pi.append_entry(tool, {"code": code, **details})
            return
        label = self._session.backend.label
        said = f"The user ran this {label} code:\n```{tool}\n{code}\n```\nOutput:\n{text}"
        images = tuple(part for part in result.content if not isinstance(part, Text))
        await self._pi.send_message(
            {"custom_type": tool, "content": (Text(text=said), *images), "details": details}
        )

    async def _result(self, code: str) -> ToolResult:
        """Run code while it is shown above the editor; Escape interrupts it."""
        params = CallParameters(cells=(CellParameters(code=code),), timeout=MAX_TIMEOUT)
        last: dict[str, Any] = {}

        def changed(transcript: Transcript) -> None:
            last.update(transcript.details)
            self._show(last)

        context = ToolContext(self._session.backend.tool, lambda update: None)
        work = self._session.call(params, context, changed)
        task = self._pi.scope.spawn(work, name="typed code")
        self._running.add(task)
        stop_listening = self._listen()
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():  # the session ends
                task.cancel()
                raise
            cells = [{"code": code, **(last.get("cells") or [{}])[0], "status": "interrupted"}]
            text = f"{cells[0].get('output', '')}(cell interrupted)"
            return ToolResult.of(text, details={**last, "cells": cells, "cancelled": True})
        finally:
            self._running.discard(task)
            stop_listening()
            self._pi.context.ui.set_widget(WIDGET, None)

    def _show(self, details: dict[str, Any]) -> None:
        ctx = self._pi.context
        if ctx.mode != "tui":
            return
        # Deferred: modes without a screen never draw cells.
        from pi.batteries.python_kernel.views import RunningCell

        ctx.ui.set_widget(WIDGET, lambda tui, theme: RunningCell(details, lambda: ctx.ui.theme))

    def _listen(self) -> Callable[[], None]:
        def pressed(key: str) -> dict[str, bool] | None:
            return {"consume": True} if key in ESCAPE and self._interrupt() else None

        return self._pi.context.ui.on_terminal_input(pressed)

    def _interrupt(self) -> bool:
        running = [task for task in self._running if not task.done()]
        for task in running:
            task.cancel()
        return bool(running)
