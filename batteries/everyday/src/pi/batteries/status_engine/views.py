"""The rows of the status engine on the screen. The only module here that imports ``pi.tui``."""

from __future__ import annotations

from collections.abc import Callable

from pi.batteries.status_engine.engine import StatusOutput
from pi.batteries.status_engine.items import ELLIPSIS, TextMetrics, styled_line
from pi.extension import Theme, one_line
from pi.tui.text.ansi import has_sequences
from pi.tui.text.width import slice_columns, truncate_to_width, visible_width

TYPESETTING = TextMetrics(
    width=visible_width, cut=slice_columns, plain=one_line, styled=styled_line
)


class StatusRows:
    """Draws the engine's lines; returns the cached rows while they are unchanged."""

    def __init__(self, output: Callable[[int], StatusOutput], theme: Callable[[], Theme]) -> None:
        self._output = output
        self._theme = theme
        self._width = 0
        self._drawn: StatusOutput | None = None
        self._rows: list[str] = []

    def render(self, width: int) -> list[str]:
        """Return lines 2 and 3, without empty ones."""
        output = self._output(width)
        if width != self._width or output != self._drawn:
            self._width, self._drawn = width, output
            self._rows = self._paint_rows(output, width)
        return self._rows

    def invalidate(self) -> None:
        """Drop the cached rows after a theme change."""
        self._drawn = None

    def is_stale(self) -> bool:
        """Whether the engine's lines differ from the painted ones."""
        return self._width > 0 and self._output(self._width) != self._drawn

    def _paint_rows(self, output: StatusOutput, width: int) -> list[str]:
        theme, rows = self._theme(), []
        if output.line2:
            rows.append(theme.fg("dim", output.line2))
        if output.line3:
            line = truncate_to_width(output.line3, width, ELLIPSIS)
            rows.append(line if has_sequences(line) else theme.fg("dim", line))
        return rows
