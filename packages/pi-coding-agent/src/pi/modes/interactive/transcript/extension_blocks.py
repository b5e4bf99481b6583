"""Blocks that extensions draw."""

from __future__ import annotations

from pi.ai.messages import Image, blocks
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.transcript.block import (
    Block,
    TranscriptOptions,
)
from pi.modes.interactive.transcript.image_cache import ImageCache
from pi.modes.interactive.transcript.messages import CustomBlock


class ExtensionMessageBlock(Block):
    """A message of an extension, drawn by the extension or by default."""

    def __init__(self, look: TranscriptOptions, message: CustomMessage, text: str) -> None:
        super().__init__(look)
        self._message = message
        self._usual = CustomBlock(look, message.custom_type, text)
        self._pictures = ImageCache(look)
        self._images = tuple(block for block in blocks(message.content) if isinstance(block, Image))

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        super().invalidate()
        self._usual.invalidate()

    def draw(self, width: int) -> list[str]:
        """Its rows, then its images."""
        look = self.look
        rows = look.views.message(self._message, width, expanded=look.is_expanded)
        drawn = self._usual.draw(width) if rows is None else rows
        return drawn + self._pictures.rows(self._images, width)


class ExtensionEntryBlock(Block):
    """An entry that an extension stores in the session and shows."""

    def __init__(self, look: TranscriptOptions, entry: Custom) -> None:
        super().__init__(look)
        self._entry = entry

    def draw(self, width: int) -> list[str]:
        """Its rows; none if it is no longer drawn."""
        look = self.look
        return look.views.entry(self._entry, width, expanded=look.is_expanded) or []
