"""How the transcript is drawn: what all its blocks share, and what a person can switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.transcript.foreign_views import ForeignViews
from pi.tui.images.graphics import Graphics

THINKING = "Thinking…"
"""What stands for thoughts that are hidden, unless somebody wants other words."""


@dataclass
class Look:
    """One for all blocks. Whoever changes it lets the transcript draw everything anew."""

    theme: Theme
    cwd: Callable[[], Path]
    home: Path
    monotonic: Callable[[], float]
    expand_key: Callable[[], str] = lambda: "ctrl+o"
    """What the person presses to see more."""
    is_expanded: bool = False
    hides_thinking: bool = False
    thinking_label: str = THINKING
    """What stands for thoughts that are hidden."""
    pad: int = 1
    has_hyperlinks: bool = False
    graphics: Graphics | None = None
    """Nothing while pictures are not to be shown."""
    image_columns: int = 60
    views: ForeignViews = field(default_factory=ForeignViews)
    """How others want things drawn."""

    def short_path(self, path: str) -> str:
        """A path as a person would write it here: relative, or from the home folder."""
        for base, prefix in ((self.cwd(), ""), (self.home, "~/")):
            try:
                return prefix + Path(path).relative_to(base).as_posix()
            except ValueError:
                continue
        return path
