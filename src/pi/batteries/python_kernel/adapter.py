"""The kernels in pi: the tools ``python`` and ``javascript``, and ``$`` in the editor."""

from __future__ import annotations

from pi.batteries.python_kernel.backends import Backend, JavaScriptBackend, PythonBackend
from pi.batteries.python_kernel.calls import CallParameters, CellSession
from pi.batteries.python_kernel.config import SETTINGS, KernelConfig, read_config
from pi.batteries.python_kernel.interpreters import NoInterpreter
from pi.batteries.python_kernel.typed import TypedCode
from pi.extension import (
    BeforeAgentStartEvent,
    CheckResult,
    ExtensionAPI,
    ExtensionContext,
    SessionStartEvent,
    make_tool,
)

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
    """Offer what the settings, ``PI_PY``, ``PI_JS`` or ``--tools`` ask for."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    for tool in DESCRIPTIONS:
        pi.add_view("tool", tool, f"{VIEWS}:draw_call")
        pi.add_view("message", tool, f"{VIEWS}:draw_message")
        pi.add_view("entry", tool, f"{VIEWS}:draw_entry")
    kernels = SessionKernels(pi)
    pi.on("session_start", kernels.session_start)
    pi.on("before_agent_start", kernels.before_agent_start)
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
        # The user types in the first language that models have.
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
                    self._pi.context.ui.notify(text, "warning")
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

    def before_agent_start(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Start the kernel while the model reads the first prompt."""
        session = self._sessions.get("python")
        if self._is_warm or not self._config.warmed or session is None:
            return
        self._is_warm = True
        if "python" in self._pi.get_active_tools():
            self._pi.scope.spawn(session.warm(), name="warm kernel")

    async def doctor(self, ctx: ExtensionContext) -> list[CheckResult]:
        """Report what would run the cells."""
        found: list[CheckResult] = []
        config = read_config(self._pi)
        enabled = {"python": config.tool_mode != "bash-only", "javascript": config.javascript}
        for backend in (each for each in self._backends(config) if enabled[each.tool]):
            try:
                text = f"{backend.tool} cells run with {backend.describe(ctx.cwd)}"
                found.append(CheckResult(level="good", text=text))
            except NoInterpreter as error:
                missing = CheckResult(level="missing", text=error.message, advice=error.hint or "")
                found.append(missing)
        return found
