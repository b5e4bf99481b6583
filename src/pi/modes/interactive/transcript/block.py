"""What the blocks of the transcript have in common: rows that are remembered until they change."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pi.modes.interactive.transcript.look import Look
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.row_memory import RowMemory


class Block(ABC):
    """A part of the transcript. The first row is empty and keeps it apart from what is above."""

    is_final = True
    """Whether its rows stay as they are, unless everything is drawn anew."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._memory = RowMemory()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The rows; none if there is nothing to see."""
        return self._memory.rows(width, self._spaced)

    @abstractmethod
    def draw(self, width: int) -> list[str]:
        """The rows without the space above them."""

    def _spaced(self, width: int) -> list[str]:
        rows = self.draw(width)
        return ["", *rows] if rows else []


def more_rows(count: int, look: Look, what: str = "more") -> str:
    """The row that stands for those that are folded away."""
    lines = "line" if count == 1 else "lines"
    return look.theme.paint("dim")(f"… {count} {what} {lines} ({look.expand_key()} to expand)")


def clipped(rows: list[str], width: int) -> list[str]:
    """Rows cut where they do not fit."""
    return [truncate_to_width(row, width, "…") for row in rows]


def hanging(title: str, width: int) -> list[str]:
    """A title over as many rows as it takes, the others a little further right than the first."""
    if visible_width(title) <= width:
        return [title]
    first, *others = wrap_text(title, max(width - 2, 1))
    return [first, *(f"  {row}" for row in others)]
