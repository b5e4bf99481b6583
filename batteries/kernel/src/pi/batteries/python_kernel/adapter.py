"""Registers the tools ``python`` and ``javascript``, and ``$`` in the editor."""

from __future__ import annotations

import asyncio
from typing import Any

from pi.batteries.python_kernel.backends import Backend, JavaScriptBackend, PythonBackend
from pi.batteries.python_kernel.calls import (
    MAX_TIMEOUT,
    CallParameters,
    CellParameters,
    CellSession,
)
from pi.batteries.python_kernel.cells import Transcript
from pi.batteries.python_kernel.config import SETTINGS, KernelConfig, read_config
from pi.batteries.python_kernel.process import NoInterpreter
from pi.extension import (
    BeforeAgentStartEvent,
    CheckResult,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    InputMode,
    SessionAbortEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    Text,
    ToolContext,
    ToolResult,
    make_tool,
)

WIDGET = "python cell"
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
        """Register the input modes ``$`` and ``$$``, and the command ``/python``."""
        tool = self._session.backend.tool
        self._pi.add_input_mode("$", InputMode(label=tool, run=self._run_visible))
        label = f"{tool}, not for the model"
        self._pi.add_input_mode("$$", InputMode(label=label, run=self._run_excluded))
        self._pi.on("session_abort", self._session_abort)
        self._pi.register_command(
            tool,
            self.command,
            description=f"{tool} kernel: /{tool}, /{tool} interrupt, /{tool} reset",
            completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
        )

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/python``, ``/python interrupt`` or ``/python reset``."""
        match arguments.strip():
            case "":
                ctx.ui.notify(await self._session.describe())
            case "interrupt":
                if not self._interrupt():
                    ctx.ui.notify("No cell of yours is running.", "warning")
            case "reset":
                self._interrupt()
                was_running = await self._session.reset()
                ctx.ui.notify("The kernel has ended." if was_running else "No kernel is running.")
            case _:
                usage = "; ".join(f"{word}: {text}" for word, text in WORDS.items())
                ctx.ui.notify(f"Unknown argument. {usage}", "warning")

    async def _run_visible(self, code: str, ctx: CommandContext) -> None:
        await self.run(code.strip(), ctx, excluded=False)

    async def _run_excluded(self, code: str, ctx: CommandContext) -> None:
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
        content = f"The user ran this {label} code:\n```{tool}\n{code}\n```\nOutput:\n{text}"
        images = tuple(part for part in result.content if not isinstance(part, Text))
        await self._pi.send_message(
            {"custom_type": tool, "content": (Text(text=content), *images), "details": details}
        )

    async def _result(self, code: str) -> ToolResult:
        """Run code and show it above the editor meanwhile; Escape interrupts it."""
        params = CallParameters(cells=(CellParameters(code=code),), timeout=MAX_TIMEOUT)
        last: dict[str, Any] = {}

        def changed(transcript: Transcript) -> None:
            last.update(transcript.details)
            self._show(last)

        context = ToolContext(self._session.backend.tool, lambda update: None)
        work = self._session.call(params, context, changed)
        task = self._pi.scope.spawn(work, name="typed code")
        self._running.add(task)
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
            self._pi.context.ui.set_widget(WIDGET, None)

    def _show(self, details: dict[str, Any]) -> None:
        ctx = self._pi.context
        if ctx.mode != "tui":
            return
        # Deferred: modes without a screen never draw cells.
        from pi.batteries.python_kernel.views import RunningCell

        ctx.ui.set_widget(WIDGET, lambda tui, theme: RunningCell(details, lambda: ctx.ui.theme))

    async def _session_abort(self, event: SessionAbortEvent, ctx: ExtensionContext) -> None:
        """Interrupt the cell after Escape, also while the editor has text."""
        self._interrupt()

    def _interrupt(self) -> bool:
        running = [task for task in self._running if not task.done()]
        for task in running:
            task.cancel()
        return bool(running)


_SHAPE = """\
Variables, imports and functions of earlier calls are there. Cells run in order and stop at the \
first error; earlier ones keep their effect. The value of a last expression is shown. Prefer \
several short cells with a title. A timeout interrupts the cell and keeps the state; reset \
starts a new kernel."""
DESCRIPTIONS = {
    "python": f"""\
Run Python cells in a process that keeps its state. {_SHAPE}
matplotlib figures and display(value) become images or rich text; top-level await works; input() \
is not supported.
Helpers: read(path, offset, limit), write(path, text), append(path, text), find(glob, path), \
sh(command), env(name, value), status(op, **details).""",
    "javascript": f"""\
Run JavaScript cells in a process that keeps its state. {_SHAPE}
Top-level await, import and require work. display(value) shows a value; PNG and JPEG bytes become \
images.
Helpers: read(path), write(path, text), append(path, text), sh(command), status(op, details).""",
}
SNIPPETS = {
    "python": "Run Python cells in a kernel that keeps its state",
    "javascript": "Run JavaScript cells in a kernel that keeps its state",
}
VIEWS = "pi.batteries.python_kernel.views"


def extension(pi: ExtensionAPI) -> None:
    """Register settings, views, event handlers and the doctor check."""
    pi.settings.declare_all(SETTINGS)
    for tool in DESCRIPTIONS:
        pi.add_view("tool", tool, f"{VIEWS}:draw_call")
        pi.add_view("message", tool, f"{VIEWS}:draw_message")
        pi.add_view("entry", tool, f"{VIEWS}:draw_entry")
    kernels = SessionKernels(pi)
    pi.on("session_start", kernels.session_start)
    pi.on("before_agent_start", kernels.before_agent_start)
    pi.on("session_shutdown", kernels.session_shutdown)
    pi.add_doctor_check("kernels", kernels.doctor)


class SessionKernels:
    """The tools of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._config = KernelConfig()
        self._sessions: dict[str, CellSession] = {}
        self._is_warm = False

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Register the tools that are enabled, or that ``--tools`` can select."""
        if self._sessions:
            return
        config = self._config = read_config(self._pi)
        enabled = {"python": config.tool_mode != "bash-only", "javascript": config.javascript}
        for backend in self._backends(config):
            if backend.tool not in config.refused:
                self._offer(backend, is_enabled=enabled[backend.tool])
        if config.tool_mode == "ipy-only" and "python" in self._sessions:
            names = self._pi.get_active_tools()
            self._pi.set_active_tools([name for name in names if name != "bash"])
        # `$` runs the first active language: Python before JavaScript.
        active = [name for name in self._sessions if name in self._pi.get_active_tools()]
        if active:
            TypedCode(self._pi, self._sessions[active[0]]).register()

    def _backends(self, config: KernelConfig) -> tuple[Backend, ...]:
        return PythonBackend(self._pi, config), JavaScriptBackend(self._pi, config)

    def _offer(self, backend: Backend, *, is_enabled: bool) -> None:
        if self._config.checked:
            try:
                backend.check()
            except NoInterpreter as error:
                if is_enabled:
                    text = f"{backend.tool} is not available: {error.message} {error.hint}"
                    self._pi.warn(text, kind="warning")
                return
        session = self._sessions[backend.tool] = CellSession(self._pi, self._config, backend)
        self._pi.register_tool(
            make_tool(
                name=backend.tool,
                description=DESCRIPTIONS[backend.tool],
                params=CallParameters,
                run=session.call,
                execution_mode="sequential",  # calls of a session do not overlap
            ),
            prompt_snippet=SNIPPETS[backend.tool],
            exposure="active" if is_enabled else "on_demand",
        )

    async def session_shutdown(self, event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        """Delete the kernels of a gateway while requests are still possible."""
        for session in self._sessions.values():
            await session.shut_down(is_end=event.reason == "quit")

    def before_agent_start(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Start the kernel while the model reads the first prompt."""
        session = self._sessions.get("python")
        if self._is_warm or not self._config.warmed or session is None:
            return
        self._is_warm = True
        if "python" in self._pi.get_active_tools():
            self._pi.scope.spawn(session.warm(), name="warm kernel")

    async def doctor(self, ctx: ExtensionContext) -> list[CheckResult]:
        """Report the interpreter or gateway of each enabled language."""
        checks: list[CheckResult] = []
        config = read_config(self._pi)
        enabled = {"python": config.tool_mode != "bash-only", "javascript": config.javascript}
        for backend in (backend for backend in self._backends(config) if enabled[backend.tool]):
            try:
                text = f"{backend.tool} cells run with {backend.describe(ctx.cwd)}"
                checks.append(CheckResult(level="good", text=text))
            except NoInterpreter as error:
                missing = CheckResult(level="missing", text=error.message, advice=error.hint or "")
                checks.append(missing)
        return checks
