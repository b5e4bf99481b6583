"""Wrapped text, one-line text, and a box."""

from __future__ import annotations

from pi.base.records import replace
from pi.base.terminal_text import sanitise_keeping_style
from pi.tui.component import Area, Component
from pi.tui.containers import CachedWidget, Container
from pi.tui.style import Paint
from pi.tui.text.width import inner_width, padded, truncate_to_width
from pi.tui.text.wrap import wrap_text


class Text(CachedWidget):
    """A wrapped text with padding and an optional background.

    Colours in the text (SGR) are kept, all other sequences are removed. A text without visible
    characters takes no rows.
    """

    def __init__(
        self, text: str = "", pad_x: int = 1, pad_y: int = 1, background: Paint | None = None
    ) -> None:
        self._text = sanitise_keeping_style(text)
        self._pad_x = pad_x
        self._pad_y = pad_y
        self._background = background

    @property
    def text(self) -> str:
        """The sanitised text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Replace the text."""
        text = sanitise_keeping_style(text)
        if text != self._text:
            self._text = text
            self.invalidate()

    def set_background(self, background: Paint | None) -> None:
        """Set or remove the background."""
        self._background = background
        self.invalidate()

    def _draw(self, width: int) -> list[str]:
        if not self._text.strip():
            return []
        return padded(
            wrap_text(self._text, inner_width(width, self._pad_x)),
            width,
            pad_x=self._pad_x,
            pad_y=self._pad_y,
            background=self._background,
        )


class TruncatedText(CachedWidget):
    """The first line of a text, truncated to the width; sanitised like ``Text``."""

    def __init__(self, text: str = "", pad_x: int = 0, pad_y: int = 0) -> None:
        self._pad_x = pad_x
        self._pad_y = pad_y
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self._line = sanitise_keeping_style(text).partition("\n")[0]
        self.invalidate()

    def _draw(self, width: int) -> list[str]:
        line = truncate_to_width(self._line, inner_width(width, self._pad_x))
        return padded([line], width, pad_x=self._pad_x, pad_y=self._pad_y, background=None)


class Box:
    """Children from top to bottom with padding and one background. Empty children take no rows."""

    def __init__(self, pad_x: int = 1, pad_y: int = 1, background: Paint | None = None) -> None:
        self._pad_x = pad_x
        self._pad_y = pad_y
        self._background = background
        self._inside = Container()
        self._drawn: tuple[int, list[str]] | None = None
        """The width and the children's rows from which ``_rows`` was made."""
        self._rows: list[str] = []

    @property
    def children(self) -> tuple[Component, ...]:
        """The children from top to bottom."""
        return self._inside.children

    def add_child(self, child: Component) -> None:
        """Add a child at the bottom."""
        self._inside.add_child(child)

    def remove_child(self, child: Component) -> None:
        """Remove a child; does nothing if it is not a child."""
        self._inside.remove_child(child)

    def clear(self) -> None:
        """Remove all children."""
        self._inside.clear()

    def set_background(self, background: Paint | None) -> None:
        """Set or remove the background."""
        self._background = background
        self._drawn = None

    def areas_at(self, row: int) -> list[Area]:
        """Return the area of the child on a row, if any."""
        inside = self._inside.areas_at(row - self._pad_y)
        return [replace(area, row=area.row + self._pad_y, column=self._pad_x) for area in inside]

    def invalidate(self) -> None:
        """Invalidate every child."""
        self._inside.invalidate()
        self._drawn = None

    def render(self, width: int) -> list[str]:
        """Return the children's rows on the background."""
        lines = self._inside.render(inner_width(width, self._pad_x))
        if self._drawn is None or self._drawn[0] != width or self._drawn[1] is not lines:
            self._drawn = (width, lines)
            self._rows = self._draw(lines, width)
        return self._rows

    @property
    def live_region_start(self) -> int | None:
        """The first row that may still change, according to the children."""
        return self._shifted(self._inside.live_region_start)

    @property
    def commit_safe_end(self) -> int | None:
        """The end of the stable rows of the live region, according to the children."""
        return self._shifted(self._inside.commit_safe_end)

    def _shifted(self, row: int | None) -> int | None:
        return None if row is None else row + self._pad_y

    def _draw(self, lines: list[str], width: int) -> list[str]:
        if not lines:
            return []
        return padded(
            lines, width, pad_x=self._pad_x, pad_y=self._pad_y, background=self._background
        )
