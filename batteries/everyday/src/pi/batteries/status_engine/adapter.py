"""The status engine as an extension of pi: session state in, shown or published lines out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.batteries.status_engine.config import StatusEngineConfig, declare, read_config
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.items import (
    FOOTER_PARTS,
    ContextWindow,
    GitState,
    StatusEngineState,
    StatusItem,
    TextMetrics,
    styled_line,
)
from pi.batteries.status_engine.sources import (
    THROTTLE,
    Ask,
    GitPoller,
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
    Rows,
    SessionCompactEvent,
    SessionStartEvent,
    SessionTreeEvent,
    TurnEndEvent,
    one_line,
)

_COST_EVENTS = (TurnEndEvent, SessionCompactEvent, SessionTreeEvent, ModelSelectEvent)
"""Events after which cost or context usage may have changed."""


class SessionFacts:
    """Builds the engine's state from the session.

    Values that are expensive to compute are cached and updated by events, not once per frame.
    """

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx
        self._count_event()

    def handle_event(self, event: object) -> None:
        """Update the cached values."""
        if isinstance(event, _COST_EVENTS):
            self._count_event()

    def state(self, git: GitState) -> StatusEngineState:
        """Return the current state."""
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

    def _count_event(self) -> None:
        stats = self._ctx.get_session_stats()
        self._cost = stats.cost
        self._context = _window(stats.context_usage)


def _window(usage: object) -> ContextWindow | None:
    if not isinstance(usage, ContextUsage):  # no model is selected
        return None
    return ContextWindow(size=usage.context_window, used_percent=usage.percent)


NAME = "status_engine"
"""Name of the rows, of the published event, and of the service for other extensions."""
FILE_REFRESH = 1.0
"""Seconds between two reads of the file of line 3 while no event arrives."""
ANY_WIDTH = 1_000_000
"""Width for published lines: clients truncate them."""


class LiveEngine:
    """The engine of one configuration, with the session state and the sources of line 3.

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
        self.engine = StatusEngine(config, self._sources(config), text=text, version=pi.version)
        self.service = pi.provide(NAME, self.engine)

    def output(self, width: int) -> StatusOutput:
        """Return the lines for ``width`` columns. Refreshes line 3 if it is due."""
        self.engine.set_state(self._state())
        return self.engine.tick(self._pi.scope.clock.monotonic(), width)

    def _sources(self, config: StatusEngineConfig) -> Sequence[ThrottledSource]:
        """Return the sources of line 3; a command has precedence over a file."""
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
            on_error=lambda message: self._ctx.ui.notify(message, "warning"),
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
        # Deferred: imports ``pi.tui``, which other modes do not load.
        from pi.batteries.status_engine.views import TYPESETTING, StatusRows

        self._ctx = ctx
        self.live = LiveEngine(pi, ctx, config, state, text=TYPESETTING, on_line=self.refresh)
        self._rows = StatusRows(self.live.output, lambda: ctx.ui.theme)
        self._shown = self._add()

    def refresh(self) -> None:
        """Repaint the rows if they have changed, and refresh line 3 if it is due."""
        if self.live.engine.line2_selection != self._selection:
            self._shown = self._add()
        elif self._rows.is_stale():
            self._shown.invalidate()

    def _add(self) -> Rows:
        """Add the rows. The footer leaves out what they show."""
        self._selection: tuple[StatusItem, ...] = self.live.engine.line2_selection
        parts = [FOOTER_PARTS[item] for item in self._selection if item in FOOTER_PARTS]
        return self._ctx.ui.add_footer_line(NAME, self._rows, replaces=parts)

    def remove(self) -> None:
        """Remove the rows."""
        self.live.service.remove()
        self._shown.remove()


class Publication:
    """Publishes the lines of one configuration as events when they change.

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
        self.live = LiveEngine(pi, ctx, config, state, text=text, on_line=self.refresh)
        self._published = StatusOutput()

    def repeat(self) -> None:
        """Publish the lines again with the next refresh, even if they are unchanged.

        Clients subscribe only after the session has started, and would miss the first lines.
        """
        self._published = StatusOutput()

    def refresh(self) -> None:
        """Publish the lines if they have changed, and refresh line 3 if it is due."""
        self._publish(self.live.output(ANY_WIDTH))

    def remove(self) -> None:
        """Publish empty lines."""
        self.live.service.remove()
        self._publish(StatusOutput())

    def _publish(self, output: StatusOutput) -> None:
        if output == self._published:
            return
        self._published = output
        data = {"line2": output.line2, "line3": output.line3}
        # In a task of its own: a client that does not read must not block the run.
        self._pi.scope.spawn(self._pi.publish(NAME, data), name="publishing the status")


STATUS_EVENTS = (
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
"""Events after which the status may have changed."""
MODES = ("tui", "json", "rpc")
"""Modes in which the lines are visible."""


def extension(pi: ExtensionAPI) -> None:
    """Show the lines below the footer, or publish them to clients, if the settings enable it."""
    declare(pi.settings)
    status_lines: list[StatusLines] = []

    def handle_event(event: object, ctx: ExtensionContext) -> None:
        for lines in status_lines:
            lines.handle_event(event)

    def begin(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        if ctx.mode not in MODES:
            return
        lines = StatusLines(pi, ctx)
        lines.configure()
        status_lines.append(lines)
        pi.settings.on_change(lines.configure)
        pi.scope.every(THROTTLE, lines.tick)

    pi.on("session_start", begin)
    for name in STATUS_EVENTS:
        pi.on(name, handle_event)


class StatusLines:
    """The status lines of one session, shown or published according to the settings."""

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
            watch=pi.scope.watch_folder,
            on_change=self._refresh,
        )
        self._config = StatusEngineConfig()
        self._display: StatusDisplay | Publication | None = None

    def configure(self) -> None:
        """Apply the current settings: show the lines, or remove them."""
        config, problems = read_config(self._pi.settings)
        if config == self._config:
            return
        self._config = config
        for message in problems:
            self._ctx.ui.notify(message, "warning")
        if self._display is not None:
            self._display.remove()
            self._display = None
            self._git.remove()
        if config.enabled:
            is_shown = self._ctx.mode == "tui"
            self._display = (StatusDisplay if is_shown else Publication)(
                self._pi, self._ctx, config, lambda: self._facts.state(self._git.state)
            )
            if is_shown:  # clients subscribe after the session has started
                self.tick()

    def handle_event(self, event: object) -> None:
        """Update the state after an event."""
        self._facts.handle_event(event)
        self._git.mark_stale()
        if self._display is not None:
            self._display.live.engine.mark_stale()
        if isinstance(event, AgentStartEvent) and isinstance(self._display, Publication):
            self._display.repeat()
        self._refresh()

    def tick(self) -> None:
        """Poll git and line 3, which have no events."""
        if self._display is not None:
            self._git.poll(self._pi.scope.clock.monotonic())
        self._refresh()

    def _refresh(self) -> None:
        if self._display is not None:
            self._display.refresh()
