"""Rows below the footer: what extensions say in a word, and lines of their own."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import sanitise_keeping_style
from pi.coding.extension_host.drawing import Drawable
from pi.modes.interactive.extensions.fitting import Fitted
from pi.modes.interactive.theme import Theme
from pi.tui.component import Component
from pi.tui.containers import Container
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.row_memory import RowMemory

AROUND = 6
"""Rows that the editor and the footer take at the least."""
LEAST_FREE = 2
"""Rows to spare below which lines of extensions are left out."""


class Statuses:
    """One line with what extensions say under their keys, in the order of the keys."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.draw: Callable[[str, str, int], str | None] = lambda key, text, width: None
        """How others want a text to be drawn at a width; nothing for as it is."""
        self._memory = RowMemory()
        self._texts: dict[str, str] = {}

    @property
    def texts(self) -> dict[str, str]:
        """What is said, by key."""
        return dict(sorted(self._texts.items()))

    def set(self, key: str, text: str | None) -> None:
        """Say something; ``None`` takes it back."""
        self._texts.pop(key, None)
        if text:
            self._texts[key] = " ".join(sanitise_keeping_style(text).split())
        self._memory.forget()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The line; nothing if nobody says anything."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        dim = self._theme.paint("dim")
        texts = [self.draw(key, text, width) or dim(text) for key, text in self.texts.items()]
        return [truncate_to_width(" ".join(texts), width, "…")] if texts else []


class FooterLines:
    """Lines of extensions, each painted by itself.

    On a screen with hardly a row to spare they are left out: the footer's own stay.
    """

    def __init__(
        self, screen_rows: Callable[[], int], *, repaint: Callable[[Component | None], None]
    ) -> None:
        self._screen_rows = screen_rows
        self._repaint = repaint
        """Paints one component, or everything because rows have come or gone."""
        self._lines: dict[str, tuple[int, Fitted]] = {}
        self._rows = Container()

    @property
    def children(self) -> tuple[Component, ...]:
        """The lines, from top to bottom."""
        return self._rows.children

    def set(self, key: str, drawable: Drawable, *, order: int) -> Line:
        """Have a line; one under the same key goes."""
        line = Fitted(drawable)
        self._lines[key] = (order, line)
        self._arrange()
        return Line(invalidate=lambda: self._repaint(line), remove=lambda: self._remove(key, line))

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._rows.invalidate()

    def render(self, width: int) -> list[str]:
        """The lines, if there is room."""
        if self._screen_rows() - AROUND < LEAST_FREE:
            return []
        return self._rows.render(width)

    def _remove(self, key: str, line: Fitted) -> None:
        if self._lines.get(key, (0, None))[1] is line:
            del self._lines[key]
            self._arrange()

    def _arrange(self) -> None:
        self._rows.clear()
        for _, line in sorted(self._lines.values(), key=lambda row: row[0]):
            self._rows.add_child(line)
        self._repaint(None)


class Line:
    """A line of an extension, for whoever has it; implements ``Rows``."""

    def __init__(self, *, invalidate: Callable[[], None], remove: Callable[[], None]) -> None:
        self.invalidate = invalidate
        self.remove = remove
