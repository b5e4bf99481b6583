"""The status engine as an extension of pi."""

from __future__ import annotations

from pi.batteries.status_engine.config import StatusEngineConfig, declare, read_config
from pi.batteries.status_engine.display import Display, Publication
from pi.batteries.status_engine.git.watch import GitWatch
from pi.batteries.status_engine.line_source import THROTTLE
from pi.batteries.status_engine.session_facts import SessionFacts
from pi.extension import AgentStartEvent, ExtensionAPI, ExtensionContext, SessionStartEvent

HAPPENINGS = (
    "agent_start",
    "turn_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "turn_end",
    "agent_settled",
    "model_select",
    "thinking_level_select",
    "session_compact",
    "session_tree",
    "session_info_changed",
    "user_bash",
)
"""After these the status may be another one."""
MODES = ("tui", "json", "rpc")
"""Where somebody can see the lines."""


def extension(pi: ExtensionAPI) -> None:
    """Show the lines below the footer, or publish them to clients, if they are wanted."""
    declare(pi.settings)
    shown: list[StatusLines] = []

    def hear(event: object, ctx: ExtensionContext) -> None:
        for lines in shown:
            lines.hear(event)

    def begin(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        if ctx.mode not in MODES:
            return
        lines = StatusLines(pi, ctx)
        lines.configure()
        shown.append(lines)
        pi.settings.on_change(lines.configure)
        pi.scope.every(THROTTLE, lines.tick)

    pi.on("session_start", begin)
    for name in HAPPENINGS:
        pi.on(name, hear)


class StatusLines:
    """The status of one session: knows what is so, and has it shown as the user wants it."""

    def __init__(self, pi: ExtensionAPI, ctx: ExtensionContext) -> None:
        self._pi = pi
        self._ctx = ctx
        self._facts = SessionFacts(ctx)
        self._git = GitWatch(
            ctx.files,
            pi.exec,
            cwd=lambda: ctx.cwd,
            may_run=ctx.is_project_trusted,
            start=lambda work: pi.scope.spawn(work, name="git"),
            on_change=self._refresh,
        )
        self._config = StatusEngineConfig()
        self._display: Display | Publication | None = None

    def configure(self) -> None:
        """Show what the settings say now, or nothing."""
        config, problems = read_config(self._pi.settings)
        if config == self._config:
            return
        self._config = config
        for problem in problems:
            self._ctx.ui.notify(problem, "warning")
        if self._display is not None:
            self._display.remove()
            self._display = None
        if config.enabled:
            is_shown = self._ctx.mode == "tui"
            self._display = (Display if is_shown else Publication)(
                self._pi, self._ctx, config, lambda: self._facts.state(self._git.state)
            )
            if is_shown:  # clients listen a moment later, when the session has started
                self.tick()

    def hear(self, event: object) -> None:
        """Take note of something that has happened."""
        self._facts.hear(event)
        self._git.stir()
        if self._display is not None:
            self._display.stir()
        if isinstance(event, AgentStartEvent) and isinstance(self._display, Publication):
            self._display.repeat()
        self._refresh()

    def tick(self) -> None:
        """Look again at what nobody tells."""
        if self._display is not None:
            self._git.poll(self._pi.scope.clock.monotonic())
        self._refresh()

    def _refresh(self) -> None:
        if self._display is not None:
            self._display.refresh()
