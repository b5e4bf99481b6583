"""How much of something is done."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.tui.style import Paint, unpainted
from pi.tui.text.slicing import pad_to_width, truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.widgets.row_memory import RowMemory

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEAST_BAR = 4


class ProgressBar:
    """A label, a bar and a percentage on one row; on a narrow screen only the percentage."""

    def __init__(
        self,
        label: str = "",
        fraction: float = 0.0,
        *,
        paint_done: Paint = unpainted,
        paint_left: Paint = unpainted,
    ) -> None:
        self._label = one_line(label)
        self._paint_done = paint_done
        self._paint_left = paint_left
        self._memory = RowMemory()
        self.set_fraction(fraction)

    def set_fraction(self, fraction: float) -> None:
        """How much is done; what is below 0 or above 1 counts as that."""
        self._fraction = min(max(fraction, 0.0), 1.0)
        self.invalidate()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The row."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        percent = f"{int(self._fraction * 100):>3}%"
        lead = f"{self._label} " if self._label else ""
        room = width - visible_width(lead) - len(percent) - 1
        if room < _LEAST_BAR:
            return [truncate_to_width(percent.strip(), width, "")]
        full, eighth = divmod(int(self._fraction * room * 8), 8)
        done = "█" * full + _EIGHTHS[eighth].strip()
        left = pad_to_width("", room - visible_width(done))
        return [f"{lead}{self._paint_done(done)}{self._paint_left(left)} {percent}"]
