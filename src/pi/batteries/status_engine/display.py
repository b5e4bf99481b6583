"""One engine, what it asks for line 3, and its rows below the footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.batteries.status_engine.command import asking_command
from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.file import asking_file
from pi.batteries.status_engine.line_source import Ask, LineSource
from pi.batteries.status_engine.state import StatusEngineState
from pi.extension import ExtensionAPI, ExtensionContext

NAME = "status_engine"
"""Of the rows, and of the engine among the services for other extensions."""
FILE_REFRESH = 1.0
"""Seconds between two looks at the file of line 3 while nothing happens."""


class Display:
    """Shows the lines of one configuration, from now on until ``remove``."""

    def __init__(
        self,
        pi: ExtensionAPI,
        ctx: ExtensionContext,
        config: StatusEngineConfig,
        state: Callable[[], StatusEngineState],
    ) -> None:
        # Here, not above: only where there is a screen is it loaded.
        from pi.batteries.status_engine.views import TYPESETTING, StatusRows

        self._pi = pi
        self._ctx = ctx
        self._state = state
        self._engine = StatusEngine(
            config, self._sources(config), text=TYPESETTING, version=pi.version
        )
        self._rows = StatusRows(self._output, lambda: ctx.ui.theme)
        self._shown = ctx.ui.add_footer_line(NAME, self._rows)
        self._service = pi.provide(NAME, self._engine)

    def stir(self) -> None:
        """Have line 3 asked for again."""
        self._engine.stir()

    def refresh(self) -> None:
        """Paint the rows if they are others by now, and ask for line 3 if it is time."""
        if self._rows.is_stale():
            self._shown.invalidate()

    def remove(self) -> None:
        """Show them no longer."""
        self._service.remove()
        self._shown.remove()

    def _output(self, width: int) -> StatusOutput:
        self._engine.set_state(self._state())
        return self._engine.tick(self._pi.scope.clock.monotonic(), width)

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
            on_line=self.refresh,
            on_problem=lambda problem: self._ctx.ui.notify(problem, "warning"),
            refresh=refresh,
        )
