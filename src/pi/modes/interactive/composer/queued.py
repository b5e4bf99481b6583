"""What was said and is not delivered yet, above the editor."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.row_memory import RowMemory

MOST_ROWS = 6


class QueuedRows:
    """One row for each message, and how to take them back."""

    def __init__(self, theme: Theme, key: Callable[[], str]) -> None:
        self._theme = theme
        self._key = key
        self._messages: tuple[tuple[str, str], ...] = ()
        """Each with the name of its group."""
        self._memory = RowMemory()

    def set(self, *groups: tuple[str, tuple[str, ...]]) -> None:
        """Show messages, each group behind its name."""
        messages = tuple((name, text) for name, texts in groups for text in texts)
        if messages != self._messages:
            self._messages = messages
            self.invalidate()

    @property
    def texts(self) -> tuple[str, ...]:
        """The messages in full, in their order."""
        return tuple(text for _, text in self._messages)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The messages; nothing if none waits."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        if not self._messages:
            return []
        dim, muted = self._theme.paint("dim"), self._theme.paint("muted")
        rows = [
            f" {dim(f'{name}:')} {muted(one_line(text))}"
            for name, text in self._messages[:MOST_ROWS]
        ]
        if (hidden := len(self._messages) - MOST_ROWS) > 0:
            rows.append(dim(f" … {hidden} more"))
        rows.append(dim(f" ↳ {self._key()} to edit them"))
        return [truncate_to_width(row, width, "…") for row in rows]
