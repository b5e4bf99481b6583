"""Models that no list names: an id of a known provider is used as it is, with a warning."""

from __future__ import annotations

from tests.journeys.program import Journey

WARNING = 'Warning: Model "{}" not found for provider "loop". Using custom model id.'


def test_an_id_that_no_list_names_is_a_warning_and_runs(journey: Journey) -> None:
    ended = journey.pi("-p", "hi", "--model", "loop/of-tomorrow")
    assert (ended.code, ended.out) == (0, "All is well.\n")
    assert WARNING.format("of-tomorrow") in ended.err
    assert journey.model.last["model"] == "of-tomorrow"
    with_provider = journey.pi("-p", "hi", "--provider", "loop", "--model", "other/id")
    assert WARNING.format("other/id") in with_provider.err
    assert journey.model.last["model"] == "other/id"


def test_it_is_a_copy_of_the_default_model_with_a_level(journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", reasoning=True, contextWindow=5000)
    with journey.rpc("--model", "loop/of-tomorrow:high") as client:
        state = client.request("get_state")
        assert state["thinkingLevel"] == "high"
        model = state["model"]
        assert (model["id"], model["name"]) == ("of-tomorrow", "of-tomorrow")
        assert (model["contextWindow"], model["reasoning"]) == (5000, True)
        unknown = client.ask("set_model", provider="loop", modelId="another")
        assert unknown["error"] == "Model not found: loop/another"
        client.request("set_model", provider="loop", modelId="one")
        client.request("set_model", provider="loop", modelId="of-tomorrow")
        client.prompts("hi")
    assert journey.model.last["model"] == "of-tomorrow"


def test_an_id_without_a_known_provider_is_an_error(journey: Journey) -> None:
    ended = journey.pi("-p", "hi", "--model", "of-tomorrow")
    assert ended.code == 1
    assert 'Model "of-tomorrow" not found' in ended.err
    assert journey.model.requests == []


def test_a_session_that_names_it_is_resumed_with_it(journey: Journey) -> None:
    journey.pi("-p", "hi", "--model", "loop/of-tomorrow")
    ended = journey.pi("-p", "again", "--continue")
    assert ended.code == 0
    assert WARNING.format("of-tomorrow") in ended.err
    assert journey.model.last["model"] == "of-tomorrow"
    with journey.terminal("--continue") as user:
        user.sees("not found for provider")
        user.submits("once more")
        user.sees("All is well.")
        user.leaves()
    assert journey.model.last["model"] == "of-tomorrow"


def test_an_unknown_default_model_becomes_the_default_of_its_provider(journey: Journey) -> None:
    journey.home.use_settings(defaultProvider="loop", defaultModel="gone")
    assert journey.pi("-p", "hi").code == 0
    assert journey.model.last["model"] == "one"
