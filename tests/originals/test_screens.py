"""Themes and keybindings of 1.5 mean the same on the screen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.model_server import Json
from tests.journeys.program import COMMAND, Journey
from tests.originals.programs import original

pytestmark = pytest.mark.full

THEMES: dict[str, tuple[Json, Json]] = {
    "okhsl": ({}, {"accent": "okhsl(200 80% 60%)"}),
    "oklch": ({}, {"accent": "oklch(70% 0.1 200)"}),
    "three digits": ({}, {"accent": "#f0a"}),
    "a variable": ({"vars": {"mine": "#00ff00"}}, {"accent": "mine"}),
    "light": ({"appearance": "light"}, {}),
    "a schema": ({"$schema": "https://example.com/theme.json"}, {}),
    "no color": ({}, {"accent": "blurple("}),
    "an unknown variable": ({}, {"accent": "blurple"}),
    "an unknown token": ({}, {"zebra": "#fff"}),
    "an unknown field": ({"zebra": 1}, {}),
    "a missing color": ({}, {"accent": None}),
    "an unknown appearance": ({"appearance": "dim"}, {}),
}
"""Changes of a valid theme: fields, and colors."""


def a_theme(fields: Json, colors: Json) -> Json:
    bundled = original("1.5.2") / "dist/modes/interactive/theme/dark.json"
    dark: Json = json.loads(bundled.read_text())
    merged = {**dark["colors"], **colors}
    valid = {name: value for name, value in merged.items() if value is not None}
    return {**dark, "name": "mine", **fields, "colors": valid}


def is_refused(journey: Journey, program: object) -> bool:
    journey.program = str(program)
    with journey.terminal(columns=120, rows=40) as user:
        user.settles()
        return "mine.json" in user.tape or 'theme "mine"' in user.tape


@pytest.mark.parametrize("name", THEMES)
def test_a_theme_is_accepted_by_both_or_by_none(name: str, journey: Journey) -> None:
    journey.environ |= {"PI_OFFLINE": "1", "LLAMA_BASE_URL": "http://127.0.0.1:9"}
    journey.home.use_settings(theme="mine")
    journey.home.write("themes/mine.json", json.dumps(a_theme(*THEMES[name])))
    expected = is_refused(journey, original("1.5.2") / "pi")
    assert is_refused(journey, COMMAND) == expected


@pytest.mark.parametrize(
    "bindings",
    [
        {"app.model.select": "ctrl+y", "tui.editor.yank": []},
        {"app.model.select": ["alt+k", "ctrl+y"], "tui.editor.yank": []},
        {
            "$schema": "https://example.com/keybindings.json",
            "app.model.select": "ctrl+y",
            "tui.editor.yank": [],
        },
    ],
)
def test_a_key_is_bound_alike(bindings: dict[str, Any], journey: Journey) -> None:
    journey.environ |= {"PI_OFFLINE": "1", "LLAMA_BASE_URL": "http://127.0.0.1:9"}
    journey.home.use_model(journey.model, "one", "another-model")
    journey.home.use_settings(defaultProvider="loop", defaultModel="one")
    journey.home.write("keybindings.json", json.dumps(bindings))
    for program in (original("1.5.2") / "pi", COMMAND):
        journey.program = str(program)
        with journey.terminal() as user:
            user.settles()
            assert "another-model" not in user.screen
            user.types("\x19")
            user.shows("another-model")
            user.types("\x1b")
            user.loses("another-model")
