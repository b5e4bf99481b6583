"""The Python kernel in pi: the ``python`` tool, and ``$`` and ``$$`` in the editor."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Annotated, Any

from pi.batteries.python_kernel.cells import Cell, Transcript
from pi.batteries.python_kernel.config import (
    Interpreter,
    KernelConfig,
    NoInterpreter,
    declare,
    find_interpreter,
    kernel_environment,
    read_config,
)
from pi.batteries.python_kernel.kernel import (
    IDLE_SECONDS,
    RUNNER,
    Kernel,
    KernelDied,
    KernelPool,
    Start,
)
from pi.extension import (
    Child,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    InputMode,
    Meta,
    Record,
    Scope,
    SessionStartEvent,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
)

TOOL = "python"
DEFAULT_TIMEOUT, LEAST_TIMEOUT, MAX_TIMEOUT = 30, 1, 600
UPDATE_EVERY = 0.1
"""Seconds between two updates of a running call."""
DESCRIPTION = """\
Run Python cells in a process that keeps its state: variables, imports and functions of earlier \
calls are there. Cells run in order and stop at the first error. The value of a last expression is \
shown; matplotlib figures become images; top-level await works. Prefer several short cells. \
input() is not supported. A timeout interrupts the cell and keeps the state."""


class CellParameters(Record, rename=None):
    """One cell."""

    code: Annotated[str, Meta(description="Python code")]
    title: Annotated[str, Meta(description="What the cell does, in a few words")] = ""


class PythonParameters(Record, rename=None):
    """Arguments of the tool."""

    cells: Annotated[tuple[CellParameters, ...], Meta(description="Cells, run in order")]
    timeout: Annotated[float, Meta(description="Seconds for the whole call, 1 to 600")] = (
        DEFAULT_TIMEOUT
    )
    cwd: Annotated[str, Meta(description="Working directory of the kernel")] = ""
    reset: Annotated[bool, Meta(description="Start a new kernel before the first cell")] = False


class PythonSession:
    """The kernel of one session of pi."""

    def __init__(self, pi: ExtensionAPI, config: KernelConfig) -> None:
        self._pi = pi
        self._config = config
        self._pool: KernelPool | None = None
        self._interpreters: dict[Path, Interpreter] = {}

    async def call(self, params: PythonParameters, ctx: ToolContext) -> ToolResult:
        """Run the cells of a tool call."""
        if not params.cells:
            raise ToolFailed("There is no cell: cells needs at least one item.")
        seconds = min(max(params.timeout, LEAST_TIMEOUT), MAX_TIMEOUT)
        cwd = self._pi.context.cwd / params.cwd
        if not cwd.is_dir():
            raise ToolFailed(f"Working directory does not exist: {cwd}")
        cells = [Cell(index=n, code=c.code, title=c.title) for n, c in enumerate(params.cells)]
        with self._pi.context.artifacts.sink(TOOL) as sink:
            transcript = Transcript(cells, sink)
            updates = Updates(ctx, transcript, self._pi.scope)
            problem = await self._run(transcript, updates, cwd, seconds, reset=params.reset)
        text = sink.text.rstrip("\n")
        shown = "\n\n".join(part for part in (text, problem) if part) or "(no output)"
        return ToolResult(
            content=(Text(text=shown), *transcript.images),
            details=transcript.details,
            is_error=bool(problem),
        )

    async def _run(
        self, transcript: Transcript, updates: Updates, cwd: Path, seconds: float, *, reset: bool
    ) -> str:
        """Run all cells within one deadline. Returns the problem, or an empty string."""
        total = len(transcript.cells)
        index = 0
        try:
            # One deadline over the start of the kernel, its queue and all cells.
            async with asyncio.timeout(seconds):
                kernel = await self._kernel(cwd)
                try:
                    async with kernel.turn():
                        if reset:
                            await kernel.reset()
                        for index in range(total):
                            status = await self._cell(kernel, transcript, updates, index)
                            if status != "ok" or transcript.asked_for_input:
                                transcript.end(index, "error", transcript.cells[index].duration_ms)
                                return _failed(index, total)
                finally:
                    if self._config.kernel_mode == "per-call":
                        await kernel.close()
        except TimeoutError:
            transcript.end(index, "interrupted", round(seconds * 1000))
            return f"Command timed out after {seconds:g} seconds"
        except KernelDied as error:
            transcript.end(index, "error", 0)
            return f"{error.message}{' ' + error.hint if error.hint else ''}"
        return ""

    async def _cell(
        self, kernel: Kernel, transcript: Transcript, updates: Updates, index: int
    ) -> str:
        clock = self._pi.scope.clock
        transcript.begin(index)
        updates.publish()
        begun = clock.monotonic()

        def add(frame: dict[str, Any]) -> None:
            transcript.add(index, frame)
            updates.publish_soon()

        status = await kernel.run(transcript.cells[index].code, add)
        transcript.end(index, status, round((clock.monotonic() - begun) * 1000))
        return status

    async def _kernel(self, cwd: Path) -> Kernel:
        if self._pool is None:
            self._pool = await self._pi.shared("python kernels", _make_pool, linger=IDLE_SECONDS)
        start = self._starter(cwd, await self.interpreter(cwd))
        if self._config.kernel_mode == "per-call":
            return self._pool.fresh(start, traced=self._config.traced)
        key = (self._pi.context.session_manager.get_session_id(), str(cwd))
        return await self._pool.get(key, start, traced=self._config.traced)

    def _starter(self, cwd: Path, interpreter: Interpreter) -> Start:
        pi, environ = self._pi, kernel_environment(interpreter, self._pi.context.environ)

        async def start(scope: Scope) -> Child:
            command = [interpreter.path, str(RUNNER)]
            return await pi.spawn(command, cwd=cwd, env=environ, scope=scope)

        return start

    async def interpreter(self, cwd: Path) -> Interpreter:
        """Return the interpreter for a folder. One of the project runs after consent only."""
        if cwd not in self._interpreters:
            ctx, config = self._pi.context, self._config
            chosen = config.interpreter
            trusted = ctx.is_project_trusted()
            found = find_interpreter(cwd, ctx.environ, chosen=chosen, trusted=trusted)
            if found.is_project and not await self._allows(found):
                found = find_interpreter(cwd, ctx.environ, chosen=chosen, trusted=False)
            self._interpreters[cwd] = found
        return self._interpreters[cwd]

    async def _allows(self, interpreter: Interpreter) -> bool:
        """Whether the user allows an interpreter of the project; asks again if it changed."""
        ctx, path = self._pi.context, Path(interpreter.path)
        definition = Path(interpreter.venv, "pyvenv.cfg")
        content = definition.read_bytes() if definition.is_file() else b""
        identity = f"{path}\n{path.resolve()}\n".encode() + content
        digest = hashlib.sha256(identity).hexdigest()
        store = self._pi.store("global")
        decided = store.get(f"consent {digest}")
        if decided is not None:
            return bool(decided)
        if not ctx.has_ui:
            ctx.ui.notify(f"Skipped the interpreter {path}: not allowed yet. Start pi to decide.")
            self._pi.log.warning("Skipped the interpreter %s: not allowed yet.", path)
            return False
        allowed = await ctx.ui.confirm(
            "Run the project's Python?", f"{path}\nis started as the Python kernel."
        )
        await store.set(f"consent {digest}", value=allowed)
        return allowed

    async def typed(self, code: str, *, excluded: bool) -> None:
        """Run code of the user. The model sees it with its next request unless ``excluded``."""
        params = PythonParameters(cells=(CellParameters(code=code),), timeout=MAX_TIMEOUT)
        result = await self.call(params, ToolContext("python", lambda update: None))
        details = result.details if isinstance(result.details, dict) else {}
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        if excluded:
            await self._pi.append_entry(TOOL, {"code": code, "output": text, **details})
            return
        said = f"The user ran this Python code:\n```python\n{code}\n```\nOutput:\n{text}"
        images = tuple(part for part in result.content if not isinstance(part, Text))
        await self._pi.send_message(
            {"custom_type": TOOL, "content": (Text(text=said), *images), "details": details}
        )


async def _make_pool(scope: Scope) -> KernelPool:
    pool = KernelPool(scope)
    scope.on_close(pool.close)
    return pool


def _failed(index: int, total: int) -> str:
    if total == 1:
        return "The cell failed."
    rest = total - index - 1
    return f"Cell {index + 1} of {total} failed." + (f" {rest} did not run." if rest else "")


class Updates:
    """Intermediate results of a call, a few per second."""

    def __init__(self, ctx: ToolContext, transcript: Transcript, scope: Scope) -> None:
        self._ctx = ctx
        self._transcript = transcript
        self._clock = scope.clock
        self._next = 0.0

    def publish_soon(self) -> None:
        """Publish unless that happened a moment ago."""
        if self._clock.monotonic() >= self._next:
            self.publish()

    def publish(self) -> None:
        """Publish the output so far."""
        self._next = self._clock.monotonic() + UPDATE_EVERY
        text = "".join(cell.output for cell in self._transcript.cells)
        self._ctx.update(ToolResult.of(text, details=self._transcript.details))


def extension(pi: ExtensionAPI) -> None:
    """Offer the tool and the input modes if the settings, ``PI_PY`` or ``--tools`` ask for it."""
    declare(pi.settings)
    pi.add_view("tool", TOOL, "pi.batteries.python_kernel.views:draw_call")
    pi.add_view("message", TOOL, "pi.batteries.python_kernel.views:draw_message")
    pi.add_view("entry", TOOL, "pi.batteries.python_kernel.views:draw_entry")

    async def begin(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        selected = TOOL in ctx.selected_tools
        config = read_config(pi, selected=selected)
        if config.tool_mode == "bash-only":
            return
        session = PythonSession(pi, config)
        if config.checked:
            try:
                find_interpreter(ctx.cwd, ctx.environ, chosen=config.interpreter, trusted=False)
            except NoInterpreter as error:
                ctx.ui.notify(f"python is not available: {error.message} {error.hint}", "warning")
                return
        pi.register_tool(
            make_tool(
                name=TOOL,
                description=DESCRIPTION,
                params=PythonParameters,
                run=session.call,
                execution_mode="sequential",
            ),
            prompt_snippet="Run Python cells in a kernel that keeps its state",
        )
        if config.tool_mode == "ipy-only":
            pi.set_active_tools([name for name in pi.get_active_tools() if name != "bash"])

        async def run(code: str, ctx: CommandContext) -> None:
            await session.typed(code, excluded=False)

        async def run_excluded(code: str, ctx: CommandContext) -> None:
            await session.typed(code, excluded=True)

        pi.add_input_mode("$", InputMode(label="python", run=run))
        pi.add_input_mode("$$", InputMode(label="python, not for the model", run=run_excluded))

    pi.on("session_start", begin)
