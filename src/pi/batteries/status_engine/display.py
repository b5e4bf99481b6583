"""One engine, what it asks for line 3, and where its lines go: to the screen, or to clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.batteries.status_engine.command import asking_command
from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.file import asking_file
from pi.batteries.status_engine.line_source import Ask, LineSource
from pi.batteries.status_engine.state import StatusEngineState
from pi.batteries.status_engine.typesetting import Typesetting, styled_line
from pi.extension import ExtensionAPI, ExtensionContext, one_line

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
        text: Typesetting,
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

    def _sources(self, config: StatusEngineConfig) -> Sequence[LineSource]:
        """A command comes before a file."""
        sources = []
        if config.wants_command:
            ask = asking_command(
                config.command, self._pi.exec, timeout_ms=config.command_timeout_ms
            )
            sources.append(self._source(ask, refresh=config.refresh_ms / 1000))
        if config.wants_file:
            sources.append(
                self._source(asking_file(config.file, self._ctx.files), refresh=FILE_REFRESH)
            )
        return sources

    def _source(self, ask: Ask, *, refresh: float) -> LineSource:
        return LineSource(
            ask,
            start=lambda work: self._pi.scope.spawn(work, name="line 3"),
            on_line=self._on_line,
            on_problem=lambda problem: self._ctx.ui.notify(problem, "warning"),
            refresh=refresh,
        )


class Display:
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
        text = Typesetting(plain=one_line, styled=styled_line)
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
