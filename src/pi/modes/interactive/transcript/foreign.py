"""Blocks that extensions draw."""

from __future__ import annotations

from pi.coding.session.entries import Custom
from pi.coding.session.messages import CustomMessage
from pi.modes.interactive.transcript.block import Block
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.messages import CustomBlock


class MessageBlock(Block):
    """What an extension says to the model, as it wants it drawn or as it usually is."""

    def __init__(self, look: Look, message: CustomMessage, words: str) -> None:
        super().__init__(look)
        self._message = message
        self._usual = CustomBlock(look, message.custom_type, words)

    def invalidate(self) -> None:
        """Draw anew next time."""
        super().invalidate()
        self._usual.invalidate()

    def draw(self, width: int) -> list[str]:
        """Its rows."""
        look = self.look
        rows = look.views.message(self._message, width, expanded=look.is_expanded)
        return self._usual.draw(width) if rows is None else rows


class EntryBlock(Block):
    """Something that an extension keeps in the session and shows."""

    def __init__(self, look: Look, entry: Custom) -> None:
        super().__init__(look)
        self._entry = entry

    def draw(self, width: int) -> list[str]:
        """Its rows; none if it is no longer drawn."""
        look = self.look
        return look.views.entry(self._entry, width, expanded=look.is_expanded) or []
