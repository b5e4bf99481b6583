"""The colours of the screen, as extensions know them."""

from __future__ import annotations

from pi.modes.interactive.theme import Theme
from pi.tui.style import Style, painter


class Colours:
    """Paints by meaning; implements ``Theme`` of extensions. It follows the theme it is made of."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    @property
    def name(self) -> str:
        """What the theme is called."""
        return self._theme.palette.name

    def fg(self, name: str, text: str) -> str:
        """``text`` in a colour of the theme; a name that it does not have changes nothing."""
        return self._theme.paint(name)(text)

    def bg(self, name: str, text: str) -> str:
        """``text`` on a colour of the theme."""
        return self._theme.paint(name)(text)

    def bold(self, text: str) -> str:
        """``text``, heavier."""
        return self._theme.bold(text)

    def italic(self, text: str) -> str:
        """``text``, slanted."""
        return painter(Style(italic=True))(text)

    def underline(self, text: str) -> str:
        """``text`` with a line below it."""
        return painter(Style(underline=True))(text)

    def dim(self, text: str) -> str:
        """``text``, fainter."""
        return painter(Style(dim=True))(text)

    def inverse(self, text: str) -> str:
        """``text`` with its colours exchanged."""
        return painter(Style(inverse=True))(text)

    def strikethrough(self, text: str) -> str:
        """``text``, crossed out."""
        return painter(Style(strike=True))(text)
