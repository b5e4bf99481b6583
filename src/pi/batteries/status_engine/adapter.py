"""The status engine as an extension of pi."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.batteries.status_engine.config import StatusEngineConfig, declare, read_config
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.git import GitPoller
from pi.batteries.status_engine.items import (
    ContextWindow,
    GitState,
    StatusEngineState,
    TextMetrics,
    styled_line,
)
from pi.batteries.status_engine.sources import (
    THROTTLE,
    Ask,
    ThrottledSource,
    command_source,
    file_source,
)
from pi.extension import (
    AgentStartEvent,
    ContextUsage,
    ExtensionAPI,
    ExtensionContext,
    ModelSelectEvent,
    SessionCompactEvent,
    SessionStartEvent,
    SessionTreeEvent,
    TurnEndEvent,
    one_line,
)

# The state of the engine, asked of the session.


_COUNTING = (TurnEndEvent, SessionCompactEvent, SessionTreeEvent, ModelSelectEvent)
"""After these a session has cost more, and its window is fuller, emptier, or another one."""


class SessionFacts:
    """Tells all that the status is made of.

    What would have to be counted anew for every frame is kept, and looked at when it changes.
    """

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx
        self._count()

    def hear(self, event: object) -> None:
        """Take note of something that has happened."""
        if isinstance(event, _COUNTING):
            self._count()

    def state(self, git: GitState) -> StatusEngineState:
        """What is so now."""
        ctx, model = self._ctx, self._ctx.model
        facts = ctx.ui.facts
        return StatusEngineState(
            session_id=ctx.session_manager.get_session_id(),
            transcript_path=ctx.session_manager.get_session_file() or "",
            cwd=str(ctx.cwd),
            model=model.id if model else "",
            model_name=model.name if model else "",
            effort=ctx.thinking_level if model and model.reasoning else "",
            sandbox=facts.get("sandbox", ""),
            approval=facts.get("approval", ""),
            git=git,
            since_session_ms=ctx.since_session_ms(),
            cost_usd=self._cost,
            context=self._context,
        )

    def _count(self) -> None:
        stats = self._ctx.get_session_stats()
        self._cost = stats.cost
        self._context = _window(stats.context_usage)


def _window(usage: object) -> ContextWindow | None:
    if not isinstance(usage, ContextUsage):  # there is no model
        return None
    return ContextWindow(size=usage.context_window, used_percent=usage.percent)


# One engine, what it asks for line 3, and where its lines go: to the screen, or to clients.


NAME = "status_engine"
"""Of the rows, of the published event, and of the engine among the services of extensions."""
FILE_REFRESH = 1.0
"""Seconds between two looks at the file of line 3 while nothing happens."""
ANY_WIDTH = 1_000_000
"""Columns for lines that a client may cut as it likes."""


class LiveEngine:
    """The engine of one configuration, with the state of its session and sources of line 3.

    ``on_line`` is called when line 3 has changed.
    """

    def __init__(
        self,
        pi: ExtensionAPI,
        ctx: ExtensionContext,
        config: StatusEngineConfig,
        state: Callable[[], StatusEngineState],
        *,
        text: TextMetrics,
        on_line: Callable[[], None],
    ) -> None:
        self._pi = pi
        self._ctx = ctx
        self._state = state
        self._on_line = on_line
        self._engine = StatusEngine(config, self._sources(config), text=text, version=pi.version)
        self._service = pi.provide(NAME, self._engine)

    def stir(self) -> None:
        """Have line 3 asked for again."""
        self._engine.stir()

    def output(self, width: int) -> StatusOutput:
        """The lines for ``width`` columns; line 3 is asked for if it is time."""
        self._engine.set_state(self._state())
        return self._engine.tick(self._pi.scope.clock.monotonic(), width)

    def remove(self) -> None:
        """Offer the engine no longer."""
        self._service.remove()

    def _sources(self, config: StatusEngineConfig) -> Sequence[ThrottledSource]:
        """A command comes before a file."""
        sources = []
        if config.wants_command:
            ask = command_source(
                config.command, self._pi.exec, timeout_ms=config.command_timeout_ms
            )
            sources.append(self._source(ask, refresh=config.refresh_ms / 1000))
        if config.wants_file:
            sources.append(
                self._source(file_source(config.file, self._ctx.files), refresh=FILE_REFRESH)
            )
        return sources

    def _source(self, ask: Ask, *, refresh: float) -> ThrottledSource:
        return ThrottledSource(
            ask,
            start=lambda work: self._pi.scope.spawn(work, name="line 3"),
            on_line=self._on_line,
            on_problem=lambda problem: self._ctx.ui.notify(problem, "warning"),
            refresh=refresh,
        )


class StatusDisplay:
    """Shows the lines of one configuration below the footer, until ``remove``."""

    def __init__(
        self,
        pi: ExtensionAPI,
        ctx: ExtensionContext,
        config: StatusEngineConfig,
        state: Callable[[], StatusEngineState],
    ) -> None:
        # Here, not above: only where there is a screen is it loaded.
        from pi.batteries.status_engine.views import TYPESETTING, StatusRows

        self._engine = LiveEngine(pi, ctx, config, state, text=TYPESETTING, on_line=self.refresh)
        self._rows = StatusRows(self._engine.output, lambda: ctx.ui.theme)
        self._shown = ctx.ui.add_footer_line(NAME, self._rows)

    def stir(self) -> None:
        """Have line 3 asked for again."""
        self._engine.stir()

    def refresh(self) -> None:
        """Paint the rows if they are others by now, and ask for line 3 if it is time."""
        if self._rows.is_stale():
            self._shown.invalidate()

    def remove(self) -> None:
        """Show them no longer."""
        self._engine.remove()
        self._shown.remove()


class Publication:
    """Publishes the lines of one configuration as events, whenever they have changed.

    For JSON and RPC mode, where clients draw: ``{"line2": "…", "line3": "…" or null}``.
    """

    def __init__(
        self,
        pi: ExtensionAPI,
        ctx: ExtensionContext,
        config: StatusEngineConfig,
        state: Callable[[], StatusEngineState],
    ) -> None:
        self._pi = pi
        text = TextMetrics(plain=one_line, styled=styled_line)
        self._engine = LiveEngine(pi, ctx, config, state, text=text, on_line=self.refresh)
        self._published = StatusOutput()

    def stir(self) -> None:
        """Have line 3 asked for again."""
        self._engine.stir()

    def repeat(self) -> None:
        """Publish the lines again with the next refresh, although they are the same.

        Clients listen only when the session has started, and would miss what came before.
        """
        self._published = StatusOutput()

    def refresh(self) -> None:
        """Publish the lines if they have changed, and ask for line 3 if it is time."""
        self._publish(self._engine.output(ANY_WIDTH))

    def remove(self) -> None:
        """Say that there are no lines any more."""
        self._engine.remove()
        self._publish(StatusOutput())

    def _publish(self, output: StatusOutput) -> None:
        if output == self._published:
            return
        self._published = output
        data = {"line2": output.line2, "line3": output.line3}
        # Beside the handlers: a client that does not read must not hold up the run.
        self._pi.scope.spawn(self._pi.publish(NAME, data), name="publishing the status")


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
        self._git = GitPoller(
            ctx.files,
            pi.exec,
            cwd=lambda: ctx.cwd,
            may_run=ctx.is_project_trusted,
            start=lambda work: pi.scope.spawn(work, name="git"),
            on_change=self._refresh,
        )
        self._config = StatusEngineConfig()
        self._display: StatusDisplay | Publication | None = None

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
            self._display = (StatusDisplay if is_shown else Publication)(
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
