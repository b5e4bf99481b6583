"""The rows of queued messages above the editor."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.text.width import truncate_to_width

MAX_ROWS = 6


class QueuedRows(CachedWidget):
    """One row per message, and the key to edit them."""

    def __init__(self, theme: Theme, key: Callable[[], str]) -> None:
        self._theme = theme
        self._key = key
        self._messages: tuple[tuple[str, str], ...] = ()
        """Each with the name of its group."""

    def set(self, *groups: tuple[str, tuple[str, ...]]) -> None:
        """Show messages, each group with its name."""
        messages = tuple((name, text) for name, texts in groups for text in texts)
        if messages != self._messages:
            self._messages = messages
            self.invalidate()

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the full messages in order."""
        return tuple(text for _, text in self._messages)

    def _draw(self, width: int) -> list[str]:
        if not self._messages:
            return []
        dim, muted = self._theme.paint("dim"), self._theme.paint("muted")
        rows = [
            f" {dim(f'{name}:')} {muted(one_line(text))}"
            for name, text in self._messages[:MAX_ROWS]
        ]
        if (hidden := len(self._messages) - MAX_ROWS) > 0:
            rows.append(dim(f" … {hidden} more"))
        rows.append(dim(f" ↳ {self._key()} to edit them"))
        return [truncate_to_width(row, width, "…") for row in rows]
