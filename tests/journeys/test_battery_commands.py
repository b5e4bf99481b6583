"""Commands that batteries declare: each is one command, however its battery was switched on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.program import Journey

STATES: dict[str, dict[str, Any]] = {
    "off": {},
    "setting": {"plan": {"enabled": True}},
    "recommended": {"batteries": "recommended"},
}


@pytest.mark.parametrize("state", STATES)
def test_plan_is_one_command_that_switches_plan_mode_on(journey: Journey, state: str) -> None:
    journey.home.use_settings(**STATES[state])

    with journey.rpc() as client:
        for _ in range(2):
            names = [row["name"] for row in client.request("get_commands")["commands"]]
            assert names.count("plan") == 1
            assert not [name for name in names if ":" in name]
            client.request("prompt", message="/plan")
        texts = [event.get("message") for event in client.events("extension_ui_request")]
        assert "Plan mode is on: nothing is changed until you approve a plan." in texts
        assert "Plan mode is off." in texts


def test_the_menu_has_one_plan_and_typing_it_switches_plan_mode_on(journey: Journey) -> None:
    journey.home.use_recommended()

    with journey.terminal() as user:
        user.shows("one")
        user.types("/pla")
        user.shows("plan-review")
        rows = [row.split()[0] for row in user.screen.splitlines() if " plan" in f" {row}"]
        assert [row for row in rows if row.startswith("plan:")] == []
        user.submits("n")
        user.shows("Plan mode is on")


def test_the_footer_shows_the_model_that_a_command_of_a_battery_has_chosen(
    journey: Journey,
) -> None:
    journey.home.use_model(journey.model, "one", "two")

    with journey.terminal() as user:
        user.shows("(loop) one")
        user.submits("/switch loop/two")
        user.shows("loop/two from now on", "(loop) two")
        user.submits("/model loop/one")
        user.shows("(loop) one")
