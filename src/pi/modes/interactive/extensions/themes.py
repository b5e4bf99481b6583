"""The themes of this screen, for extensions."""

from __future__ import annotations

from pi.coding.extension_host.ui import ThemeChange
from pi.modes.interactive.extensions.colours import Colours
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import BadTheme
from pi.modes.interactive.ui import Ui


class Themes:
    """Finds themes by name, and chooses one as ``/theme`` does."""

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    @property
    def names(self) -> tuple[str, ...]:
        """Every theme, by name."""
        return self._ui.themes.names

    def get(self, name: str) -> Colours | None:
        """A theme by its name."""
        try:
            palette = self._ui.themes.palette(name)
        except BadTheme:
            return None
        return Colours(Theme(palette, self._ui.theme.depth))

    def use(self, name: str) -> ThemeChange:
        """Choose a theme; the settings remember it."""
        try:
            self._ui.themes.use(name)
        except BadTheme as problem:
            return ThemeChange(success=False, error=problem.explain())
        self._ui.port.settings.set({"theme": name})
        return ThemeChange(success=True)
