"""A spinner with a message. It has no clock: whoever shows it says what time it is."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.tui.style import Paint, unpainted
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.row_memory import RowMemory

FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
INTERVAL = 0.08
"""Seconds that each frame is shown."""


class Loader:
    """An empty row, then the spinner and its message.

    Call ``tick`` every ``interval`` seconds, and ask for a render of this component if it says
    that something changed.
    """

    def __init__(
        self,
        message: str = "Loading...",
        *,
        paint_spinner: Paint = unpainted,
        paint_message: Paint = unpainted,
        frames: tuple[str, ...] = FRAMES,
        interval: float = INTERVAL,
    ) -> None:
        self.interval = interval
        self._paint_spinner = paint_spinner
        self._paint_message = paint_message
        self._frames = frames
        self._frame = 0
        self._started: float | None = None
        self._memory = RowMemory()
        self.set_message(message)

    def set_message(self, message: str) -> None:
        """Say something else beside the spinner."""
        self._message = one_line(message)
        self.invalidate()

    def tick(self, now: float) -> bool:
        """Choose the frame for this time, in seconds of any clock; whether it is another one."""
        if self._started is None:
            self._started = now
        frame = int((now - self._started) / self.interval) % len(self._frames)
        if frame == self._frame:
            return False
        self._frame = frame
        self.invalidate()
        return True

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The spinner on its row."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        spinner = self._paint_spinner(self._frames[self._frame])
        line = f" {spinner} {self._paint_message(self._message)}"
        return ["", truncate_to_width(line, width, "")]
