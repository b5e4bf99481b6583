from __future__ import annotations

from pathlib import Path

from pi.coding.port.ui import ThemeChange
from pi.modes.interactive.extensions.drawing import ExtensionThemes
from tests.modes.interactive.fake_screen import FakeScreen


def test_themes_are_found_and_chosen_by_name(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    themes = ExtensionThemes(screen)

    light = themes.get("light")
    assert light is not None
    assert (light.name, themes.get("nope")) == ("light", None)
    assert {"dark", "light"} <= set(themes.names)

    assert themes.use("light") == ThemeChange(success=True)
    assert screen.themes.current == "light"
    assert screen.port.settings.values.theme == "light"


def test_a_theme_that_there_is_not_changes_nothing(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)

    change = ExtensionThemes(screen).use("nope")

    assert (change.success, "Unknown theme" in (change.error or "")) == (False, True)
    assert screen.port.settings.values.theme is None
