"""The catalog is updated by a command and in the background, and says how old it is."""

from __future__ import annotations

import json
from typing import Any

from tests.journeys.program import Journey

DEFAULT = "claude-opus-5-5"
DAY = 24 * 3600 * 1000


def use_facts(journey: Journey, **models: object) -> str:
    document = {"providers": {"anthropic": models}}
    return str(journey.home.write("facts.json", json.dumps(document)))


def updated(journey: Journey) -> dict[str, Any]:
    text = (journey.home.agent_dir / "models-update.json").read_text()
    content: dict[str, Any] = json.loads(text)
    return content


def test_the_command_says_what_each_source_gave_and_the_models_follow(journey: Journey) -> None:
    journey.home.use_login()
    facts = use_facts(journey, **{DEFAULT: {"contextWindow": 123_000}, "claude-opus-9": {}})
    journey.home.use_settings(catalog={"sources": ["providers", facts]})

    with journey.terminal("models", DEFAULT) as before:
        before.ends()
    ended = journey.pi("models", "update", PI_OFFLINE="1")
    with journey.terminal("models", "opus-9") as after:
        after.ends()

    assert "Models as of 20" in before.tape
    assert (ended.code, ended.out.splitlines()) == (
        0,
        [f"{facts}: 2 models, 2 differ from the bundled catalog", "1 new models, 1 changed."],
    )
    assert "anthropic  claude-opus-9" in after.tape
    assert "Models updated" in after.tape
    assert "update" not in journey.pi("models", "opus-9").err


def test_a_source_that_fails_is_named_and_changes_nothing(journey: Journey) -> None:
    journey.home.use_settings(catalog={"sources": ["http://127.0.0.1:9/x", "gone.json"]})

    ended = journey.pi("models", "update")

    assert ended.code == 1
    assert "gone.json was not used" in ended.err
    assert "the models are as before" in ended.err


def test_a_session_updates_once_a_day_in_the_background(journey: Journey) -> None:
    journey.home.use_login()
    facts = use_facts(journey, **{DEFAULT: {"contextWindow": 123_000}})
    journey.home.use_settings(catalog={"sources": [facts]})
    path = journey.home.agent_dir / "models-update.json"

    with journey.terminal("--model", "loop/one") as user:
        user.shows("one")
        user.submits(f"!until [ -e {path} ]; do sleep 0.1; done; echo It is th''ere.")
        user.sees("It is there.")
        user.submits("/model")
        user.sees("updated just now")
    content = updated(journey)
    assert content["nextAt"] == content["sources"][0]["checkedAt"] + DAY


def test_a_script_never_updates(journey: Journey) -> None:
    journey.home.use_settings(catalog={"sources": [use_facts(journey)]})

    assert journey.pi("-p", "hi").code == 0

    assert not (journey.home.agent_dir / "models-update.json").exists()
