"""Long pastes, shown as short markers and sent in full."""

from __future__ import annotations

import re

MOST_LINES = 10
MOST_CHARACTERS = 1000

_MARKER = r"\[paste #(\d+) (?:\+\d+ lines|\d+ chars)\]"


class PasteMarkers:
    """The texts behind the markers of one prompt."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def shorten(self, text: str) -> str:
        """A marker for a long text; a short one stays as it is."""
        lines = text.count("\n") + 1
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return text
        size = f"+{lines} lines" if lines > MOST_LINES else f"{len(text)} chars"
        marker = f"[paste #{len(self._texts) + 1} {size}]"
        self._texts[marker] = text
        return marker

    def expand(self, text: str) -> str:
        """The text with what was pasted in place of its markers."""
        if not self._texts:
            return text
        return re.sub(_MARKER, lambda found: self._texts.get(found[0], found[0]), text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where markers are in a line. What only looks like one is ordinary text."""
        if not self._texts:
            return []
        return [found.span() for found in re.finditer(_MARKER, line) if found[0] in self._texts]

    def clear(self) -> None:
        """Forget all texts and count from one again."""
        self._texts.clear()
