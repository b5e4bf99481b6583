"""What moves while the agent works, and what is said beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FRAMES = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
TICK = 0.08
"""Seconds that each frame of the spinner is shown."""


@dataclass
class Indicator:
    """The usual spinner, as long as nobody wants another."""

    frames: Sequence[str] = FRAMES
    """None at all is no spinner."""
    interval: float = TICK
    """Seconds that each frame is shown."""
    message: str | None = None
    """In place of what the agent does."""
    is_visible: bool = True

    def frame(self, now: float) -> str:
        """The frame of this moment; empty without a spinner."""
        return self.frames[int(now / self.interval) % len(self.frames)] if self.frames else ""
