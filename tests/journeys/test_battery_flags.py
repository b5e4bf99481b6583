"""Every command-line option that a battery declares, by its effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.journeys.model_server import calls, says
from tests.journeys.program import Journey

TITLE_REQUEST = "The title:"


def _title_models(journey: Journey, *options: str) -> list[str]:
    """The models that were asked for a title."""
    journey.home.use_model(journey.model, "one", "two")
    journey.home.use_settings(titles={"enabled": True}, defaultModel="one", defaultProvider="loop")
    journey.model.when(TITLE_REQUEST, says("A title"))
    journey.model.requests.clear()
    with journey.rpc(*options, PI_RPC_EMIT_TITLE="1") as client:
        client.prompts("Repair the parser of dates.")
    return [request["model"] for request in journey.model.requests if _is_title_request(request)]


def _is_title_request(request: object) -> bool:
    return TITLE_REQUEST in str(request)


def no_title(journey: Journey) -> None:
    assert _title_models(journey) == ["one"]
    assert _title_models(journey, "--no-title") == []


def smol(journey: Journey) -> None:
    assert _title_models(journey, "--smol", "loop/two") == ["two"]


def slow(journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", "two")
    assert journey.pi("-p", "--model", "@slow", "--slow", "loop/two", "hi").code == 0
    assert journey.model.last["model"] == "two"


def plan(journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", "two")
    for options, model in (((), "one"), (("--plan", "loop/two"), "two")):
        ended = journey.pi("-p", "--model", "loop/one", "--plan-mode", *options, "hi")
        assert (ended.code, journey.model.last["model"]) == (0, model)


def no_lsp(journey: Journey) -> None:
    journey.home.use_settings(lsp={"enabled": True})
    for options, declared in (((), True), (("--no-lsp",), False)):
        journey.pi("-p", *options, "hi")
        assert ("lsp" in journey.model.tools_of()) is declared


def permission_mode(journey: Journey) -> None:
    for mode, is_written in (("read-only", False), ("off", True)):
        journey.model.calls("write", path=f"{mode}.txt", content="x")
        journey.pi("-p", "--permission-mode", mode, "hi")
        assert (journey.home.cwd / f"{mode}.txt").exists() is is_written


def plan_mode(journey: Journey) -> None:
    for settings in ({}, {"plan": {"enabled": True}}):
        journey.home.use_settings(**settings)
        journey.model.calls("write", path="plan_mode.txt", content="x")
        journey.pi("-p", "--plan-mode", "hi")
        assert "Plan mode is on" in journey.model.results_of()[-1]
        assert not (journey.home.cwd / "plan_mode.txt").exists()


def plan_yolo(journey: Journey) -> None:
    for settings in ({}, {"plan": {"enabled": True}}):
        journey.home.use_settings(**settings)
        journey.model.calls("propose_plan", title="A file", plan="Write it.")
        journey.pi("-p", "--plan-yolo", "hi")
        assert "The user approved the plan." in journey.model.results_of()[-1]


def no_pty(journey: Journey) -> None:
    journey.home.use_settings(bash={"extended": True})
    for options, answer in (((), "a terminal"), (("--no-pty",), "no terminal")):
        command = "test -t 1 && echo a terminal || echo no terminal"
        journey.model.calls("bash", command=command, pty=True)
        with journey.terminal(*options) as user:
            user.shows("one")
            user.submits("look")
            user.sees("All is well.")
        assert journey.model.results_of()[-1].strip() == answer


def timebox(journey: Journey) -> None:
    for name in "abc":
        journey.model.calls("write", path=name, content="x")
    ended = journey.pi("-p", "--timebox", "tokens:20", "hi")
    assert "Timebox budget spent." in ended.err
    assert not (journey.home.cwd / "c").exists()


def max_turns(journey: Journey) -> None:
    for name in "abc":
        journey.model.calls("write", path=name, content="x")
    assert journey.pi("-p", "--max-turns", "2", "hi").code == 3
    assert (journey.home.cwd / "b").exists()
    assert not (journey.home.cwd / "c").exists()


def max_cost(journey: Journey) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.3}
    for name in "abc":
        journey.model.script(replace(calls("write", path=name, content="x"), usage=usage))
    assert journey.pi("-p", "--max-cost", "0.5", "hi").code == 3
    assert (journey.home.cwd / "b").exists()
    assert not (journey.home.cwd / "c").exists()


EFFECTS: dict[str, Callable[[Journey], None]] = {
    "max-cost": max_cost,
    "max-turns": max_turns,
    "no-lsp": no_lsp,
    "no-pty": no_pty,
    "no-title": no_title,
    "permission-mode": permission_mode,
    "plan": plan,
    "plan-mode": plan_mode,
    "plan-yolo": plan_yolo,
    "slow": slow,
    "smol": smol,
    "timebox": timebox,
}


@pytest.mark.parametrize("name", EFFECTS)
def test_an_option_of_a_battery_has_its_effect(journey: Journey, name: str) -> None:
    EFFECTS[name](journey)


def test_the_options_above_are_all_that_batteries_declare(journey: Journey) -> None:
    _, *groups = re.split(r"(?m)^Extension .*\n", journey.pi("--help").out)
    declared = [
        name
        for group in groups
        for name in re.findall(r"(?m)^ +--([a-z-]+)", group.partition("\n\n")[0])
    ]

    assert sorted(declared) == sorted(EFFECTS)


SWITCHED: tuple[dict[str, object], ...] = ({"batteries": "recommended"}, {})
"""Settings of a home: everything recommended, or nothing until a client switches."""


@pytest.mark.parametrize("settings", SWITCHED, ids=["recommended", "switched in the session"])
def test_an_option_counts_however_its_battery_was_switched_on(
    journey: Journey, settings: dict[str, object]
) -> None:
    journey.home.use_settings(**settings)
    journey.model.when(TITLE_REQUEST, says("A title"))
    with journey.rpc("--no-title", "--no-lsp", PI_RPC_EMIT_TITLE="1") as client:
        if not settings:
            for name in ("titles", "lsp"):
                client.request("set_extension", name=name, enabled=True)
        client.prompts("Repair the parser of dates.")
    assert "lsp" not in journey.model.tools_of(0)
    assert not any(map(_is_title_request, journey.model.requests))
