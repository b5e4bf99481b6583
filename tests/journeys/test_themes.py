"""Themes: notations of colours, refused files, and the theme in the colours of the terminal."""

from __future__ import annotations

import json
from typing import Any

from scripts.workspace import ROOT
from tests.journeys.program import Journey

THEMES = ROOT / "packages/pi-coding-agent/src/pi/modes/interactive/themes"


def theme(name: str, **changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((THEMES / "dark.json").read_text())
    return {**document, "name": name, **changes}


def use_theme(journey: Journey, document: dict[str, Any]) -> None:
    journey.home.write(f"themes/{document['name']}.json", json.dumps(document))


def test_colours_have_the_notations_of_1_5(journey: Journey) -> None:
    document = theme("mine", appearance="dark")
    document["$schema"] = "https://example.com/theme.json"
    document["vars"] |= {"sky": "oklch(62.8% 0.2577 29.23)", "leaf": "okhsl(142.5 100% 84.45%)"}
    document["colors"] |= {"error": "#f00"}
    use_theme(journey, document)
    journey.home.use_settings(theme="mine")
    assert "mine" not in journey.pi("doctor").out
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.submits("/settings")
        user.settles()
        assert "theme" not in user.screen.lower() or "cannot" not in user.screen
        user.leaves() if "Ask anything" in user.screen else None


def test_a_refused_theme_is_named(journey: Journey) -> None:
    use_theme(journey, theme("odd", colours={}))
    use_theme(journey, {**theme("strange"), "colors": {**theme("x")["colors"], "acent": "#fff"}})
    use_theme(journey, theme("pale", appearance="grey"))
    use_theme(journey, {**theme("broken"), "colors": {**theme("x")["colors"], "text": "rgb(1)"}})
    journey.home.write("themes/mine.json", json.dumps(theme("system")))
    out = journey.pi("doctor").out
    assert "odd.json: unknown field colours" in out
    assert "strange.json: unknown color acent" in out
    assert "Did you mean accent?" in out or 'Did you mean "accent"?' in out
    assert 'pale.json: "appearance" is neither "dark" nor "light"' in out
    assert "broken.json: \"text\" is 'rgb(1)', which is not a colour" in out
    assert 'mine.json: the name "system" is reserved' in out


def test_the_system_theme_follows_the_terminal(journey: Journey) -> None:
    journey.home.use_settings(theme="system")
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.submits("hi")
        user.sees("All is well.")
        user.submits("/theme dark")
        user.settles()
        user.submits("/theme system")
        user.settles()
        user.submits("again")
        user.until(lambda: len(journey.model.requests) == 2)
        user.leaves()
    assert journey.pi("doctor").out.count("unknown theme") == 0


def test_a_new_home_is_offered_the_system_theme(untouched: Journey) -> None:
    untouched.home.use_model(untouched.model)
    with untouched.terminal() as user:
        user.sees("Theme")
        assert "system" in user.settles()
