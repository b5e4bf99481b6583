"""A spinner, a cancellable spinner, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.tui.containers import CachedWidget
from pi.tui.input.keymap import Keymap
from pi.tui.style import Paint, unpainted
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width

FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
INTERVAL = 0.08
"""Seconds per frame."""


class Loader(CachedWidget):
    """An empty row, then the spinner and its message.

    It has no clock: call ``tick`` every ``interval`` seconds, and render the component if it
    returns true.
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
        self.set_message(message)

    def set_message(self, message: str) -> None:
        """Change the message."""
        self._message = one_line(message)
        self.invalidate()

    def tick(self, now: float) -> bool:
        """Select the frame for a time in seconds of any clock. Returns whether it changed."""
        if self._started is None:
            self._started = now
        frame = int((now - self._started) / self.interval) % len(self._frames)
        if frame == self._frame:
            return False
        self._frame = frame
        self.invalidate()
        return True

    def _draw(self, width: int) -> list[str]:
        spinner = self._paint_spinner(self._frames[self._frame])
        line = f" {spinner} {self._paint_message(self._message)}"
        return ["", truncate_to_width(line, width, "")]


class CancellableLoader(Loader):
    """A ``Loader`` that takes the focus and calls ``on_cancel`` once when the user cancels."""

    def __init__(
        self,
        message: str = "Loading...",
        *,
        on_cancel: Callable[[], None],
        keymap: Keymap | None = None,
        paint_spinner: Paint = unpainted,
        paint_message: Paint = unpainted,
    ) -> None:
        super().__init__(message, paint_spinner=paint_spinner, paint_message=paint_message)
        self.is_cancelled = False
        self._on_cancel = on_cancel
        self._keymap = keymap or Keymap()

    def handle_input(self, data: str) -> None:
        """Handle the cancel key only."""
        if not self.is_cancelled and self._keymap.matches(data, "tui.select.cancel"):
            self.is_cancelled = True
            self._on_cancel()


_EIGHTHS = " ▏▎▍▌▋▊▉█"
_MIN_BAR = 4


class ProgressBar(CachedWidget):
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
        self.set_fraction(fraction)

    def set_fraction(self, fraction: float) -> None:
        """Set the fraction, limited to the range from 0 to 1."""
        self._fraction = min(max(fraction, 0.0), 1.0)
        self.invalidate()

    def _draw(self, width: int) -> list[str]:
        percent = f"{int(self._fraction * 100):>3}%"
        lead = f"{self._label} " if self._label else ""
        bar_width = width - visible_width(lead) - len(percent) - 1
        if bar_width < _MIN_BAR:
            return [truncate_to_width(percent.strip(), width, "")]
        full, eighth = divmod(int(self._fraction * bar_width * 8), 8)
        done = "█" * full + _EIGHTHS[eighth].strip()
        unfilled = pad_to_width("", bar_width - visible_width(done))
        return [f"{lead}{self._paint_done(done)}{self._paint_left(unfilled)} {percent}"]
