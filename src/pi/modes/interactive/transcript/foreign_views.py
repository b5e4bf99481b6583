"""How others than the transcript want parts of it drawn."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.coding.session.entries import Custom
from pi.coding.session.messages import CustomMessage
from pi.modes.interactive.transcript.call import Call

MarkdownKind: TypeAlias = Literal["user", "assistant", "assistant-thinking"]
"""Whose words a text is."""


class ForeignViews:
    """Each gives rows, or nothing to have something drawn as usual. Here nobody wants anything."""

    def tool(self, call: Call, width: int, *, expanded: bool) -> list[str] | None:
        """A call: what stands behind the tool's name, then the rows below."""
        return None

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        """What an extension says to the model."""
        return None

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        """Something that an extension keeps in the session; usually nobody sees it."""
        return None

    @property
    def shows_entries(self) -> bool:
        """Whether any entries are drawn."""
        return False

    def shows(self, entry: Custom) -> bool:
        """Whether an entry is drawn at all."""
        return False

    def markdown(self, text: str, kind: MarkdownKind, *, is_streaming: bool = False) -> str:
        """A text as it is to be drawn."""
        return text
