"""Changing settings on the screen."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pi.ai.models.model import Model
from pi.coding.port.session import SessionPort
from pi.coding.settings.settings import Settings
from pi.modes.interactive.dialogs.settings.dialog import edit_settings
from tests.modes.interactive.fake_screen import FakeScreen

NEAR = Model(id="near-1", name="Near One", api="demo", provider="near")
FAR = Model(id="far-1", name="Far One", api="demo", provider="far")


def opened(tmp_path: Path, **values: Any) -> FakeScreen:
    """A screen with a session whose settings are in a file."""
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(values))
    settings = Settings.of(folder, tmp_path)
    models = SimpleNamespace(registry=SimpleNamespace(get_available=lambda: [NEAR, FAR]))
    extensions = SimpleNamespace(switches=NoExtensions(settings))
    port = SimpleNamespace(settings=settings, models=models, extensions=extensions)
    return FakeScreen(tmp_path, cast("SessionPort", port))


class NoExtensions:
    """Stores settings, which switch no extension."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def change(self, changes: Mapping[str, object]) -> str:
        self._settings.set(changes)
        return ""


def stored(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tmp_path / "agent" / "settings.json").read_text())
    return content


async def test_toggling_a_setting_writes_only_that_setting(tmp_path: Path) -> None:
    screen = opened(tmp_path, unknown=1)
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("quiet start")
    assert re.search("> quiet start\n\n → Quiet start +off", screen.text())
    await screen.press("enter")
    assert re.search("→ Quiet start +on", screen.text())
    assert stored(tmp_path) == {"unknown": 1, "quietStartup": True}
    assert screen.refreshes == 1
    await screen.press("escape")
    await task


async def test_nothing_is_written_when_nothing_is_changed(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.press("down", "up", "enter", "escape", "escape")
    await task
    assert stored(tmp_path) == {}


async def test_a_number_out_of_range_is_rejected_in_the_field(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("suggest")
    await screen.press("enter", "9", "9", "enter")
    assert "Suggestions must be a whole number of at least 3 and at most 20." in screen.text(70)
    await screen.press("backspace", "enter")
    assert "→ Suggestions  9" in screen.text()
    assert stored(tmp_path) == {"autocompleteMaxVisible": 9}
    await screen.press("escape")
    await task


async def test_a_setting_is_removed_by_an_empty_value(tmp_path: Path) -> None:
    screen = opened(tmp_path, httpProxy="http://127.0.0.1:1")
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("proxy")
    await screen.press("enter", "ctrl+u", "enter")
    assert re.search(r"→ Proxy +\(not set\)", screen.text())
    assert stored(tmp_path) == {}
    await screen.press("escape")
    await task


async def test_a_nested_setting_keeps_its_neighbours(tmp_path: Path) -> None:
    screen = opened(tmp_path, compaction={"keepRecentTokens": 5})
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("auto-compact")
    await screen.press("enter")
    assert stored(tmp_path) == {"compaction": {"keepRecentTokens": 5, "enabled": False}}
    await screen.press("escape")
    await task


async def test_a_setting_that_the_project_overrides_is_reported(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    screen.port.settings.override({"quietStartup": False})
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("quiet start")
    await screen.press("enter", "escape")
    await task
    assert stored(tmp_path) == {"quietStartup": True}
    assert screen.notices == [
        ("warning", "Saved quietStartup, but project settings or an option override it.")
    ]


async def test_a_theme_is_previewed_at_once_and_an_unknown_theme_is_not_stored(
    tmp_path: Path,
) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("theme")
    await screen.press("enter", "down", "down")
    assert screen.themes.current == "light"
    assert stored(tmp_path) == {}
    await screen.press("enter")
    assert stored(tmp_path) == {"theme": "light"}
    await screen.press("enter", "up")
    assert screen.themes.current == "dark"
    await screen.press("escape")
    assert screen.themes.current == "light"
    await screen.press("enter", "up", "up", "up", "enter", "ctrl+u", *"nowhere", "enter")
    assert '\n   Unknown theme "nowhere".' in screen.text()
    await screen.press("escape", "escape")
    await task
    assert stored(tmp_path) == {"theme": "light"}
    assert screen.themes.current == "light"


async def test_picking_a_default_model_stores_its_provider_too(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("default model")
    await screen.press("enter")
    assert "far/far-1       Far One" in screen.text()
    await screen.press("down", "down", "enter", "escape")
    await task
    assert stored(tmp_path) == {"defaultProvider": "far", "defaultModel": "far-1"}


async def test_groups_have_headings_and_a_search_includes_descriptions(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.wait_until_shown()
    assert " Settings\n\n > Type to search\n\n   Models\n → Default provider" in screen.text()
    await screen.type("ctrl+g")
    assert "→ External editor" in screen.text()
    assert "Models" not in screen.text()
    await screen.press("escape")
    await task


async def test_no_name_of_a_setting_is_cut_on_a_usual_screen(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    screen.rows = 300
    task = asyncio.create_task(edit_settings(screen))
    await screen.wait_until_shown()
    assert [line for line in screen.lines(80) if "…" in line] == []
    await screen.press("escape")
    await task


async def test_the_description_is_hidden_on_a_low_screen(tmp_path: Path) -> None:
    screen = opened(tmp_path)
    task = asyncio.create_task(edit_settings(screen))
    await screen.wait_until_shown()
    assert "(defaultProvider)" in screen.text()
    screen.rows = 12
    assert "(defaultProvider)" not in screen.text()
    screen.rows = 24
    assert "(defaultProvider)" in screen.text()
    await screen.press("escape")
    await task


async def test_a_setting_that_cannot_be_written_applies_until_quit_and_the_file_is_unchanged(
    tmp_path: Path,
) -> None:
    screen = opened(tmp_path)
    (tmp_path / "agent" / "settings.json").write_text("{broken")
    task = asyncio.create_task(edit_settings(screen))
    await screen.type("quiet start")
    await screen.press("enter")
    assert re.search("→ Quiet start +on", screen.text())
    level, reported = screen.notices[-1]
    assert (level, reported.split("\n")[-1]) == ("error", "Your choice applies until you quit.")
    assert (tmp_path / "agent" / "settings.json").read_text() == "{broken"
    await screen.press("escape")
    await task
