"""The theme as extensions see it."""

from __future__ import annotations

from pi.modes.interactive.theme import Theme
from pi.tui.style import Style, painter


class ExtensionTheme:
    """Paints by token; implements ``Theme`` of extensions. It follows the current theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    @property
    def name(self) -> str:
        """The name of the theme."""
        return self._theme.palette.name

    def fg(self, name: str, text: str) -> str:
        """Paint ``text``; an unknown colour name changes nothing."""
        return self._theme.paint(name)(text)

    def bg(self, name: str, text: str) -> str:
        """Paint the background of ``text``."""
        return self._theme.paint(name)(text)

    def bold(self, text: str) -> str:
        """Return ``text`` in bold."""
        return self._theme.bold(text)

    def italic(self, text: str) -> str:
        """Return ``text`` in italics."""
        return painter(Style(italic=True))(text)

    def underline(self, text: str) -> str:
        """Return ``text`` underlined."""
        return painter(Style(underline=True))(text)

    def dim(self, text: str) -> str:
        """Return ``text`` dimmed."""
        return painter(Style(dim=True))(text)

    def inverse(self, text: str) -> str:
        """Return ``text`` with inverted colours."""
        return painter(Style(inverse=True))(text)

    def strikethrough(self, text: str) -> str:
        """Return ``text`` struck through."""
        return painter(Style(strike=True))(text)
