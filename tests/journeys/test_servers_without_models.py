"""A provider of models.json with an address and no models: its server is asked for them."""

from __future__ import annotations

import json

import pytest

from tests.journeys.program import Journey


def use_server(journey: Journey, **fields: object) -> None:
    provider = {"baseUrl": journey.model.url, **fields}
    journey.home.write("models.json", json.dumps({"providers": {"mine": provider}}))


@pytest.mark.parametrize("fields", [{}, {"apiKey": "k"}, {"api": "openai-completions"}])
def test_the_models_of_the_server_are_listed_and_answer(
    journey: Journey, fields: dict[str, object]
) -> None:
    use_server(journey, **fields)
    journey.model.models = ["alpha", "beta"]
    journey.model.says("Hello from alpha.")

    listed = journey.pi("models")
    answered = journey.pi("-p", "--model", "mine/alpha", "hi")

    assert [line.split()[:2] for line in listed.out.splitlines()[1:]] == [
        ["mine", "alpha"],
        ["mine", "beta"],
    ]
    assert answered.out == "Hello from alpha.\n"
    assert journey.model.last["model"] == "alpha"
    assert ("authorization" in journey.model.headers[-1]) == ("apiKey" in fields)


def test_the_list_is_cached_for_the_next_start(journey: Journey) -> None:
    use_server(journey)
    journey.model.models = ["alpha"]
    journey.pi("models")
    store = json.loads((journey.home.agent_dir / "models-store.json").read_text())

    assert [model["id"] for model in store["mine"]["models"]] == ["alpha"]
    with journey.rpc("--model", "mine/alpha") as client:
        models = client.request("get_available_models")["models"]
    assert [(model["provider"], model["id"]) for model in models] == [("mine", "alpha")]


def test_the_picker_lists_the_models_of_the_server(journey: Journey) -> None:
    use_server(journey)
    journey.model.models = ["alpha", "beta"]

    with journey.terminal("--model", "mine/beta") as user:
        user.shows("beta")
        user.submits("/model")
        user.sees("mine/alpha")


def test_fields_that_nothing_reads_are_named_by_the_doctor(journey: Journey) -> None:
    use_server(journey, baseURL="http://typo", compat={"supportsToolSearch": True})

    found = journey.pi("doctor")

    assert "these fields have no effect: " in found.out
    assert "providers.mine.baseURL" in found.out
    assert "providers.mine.compat.supportsToolSearch" in found.out
