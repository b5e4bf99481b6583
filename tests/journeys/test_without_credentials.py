"""Without any credentials: an error for scripts, the catalog for those who look for a model."""

from __future__ import annotations

from tests.journeys.program import Journey
from tests.journeys.terminal import ENTER


def may_use_the_embedded_model(journey: Journey) -> None:
    del journey.environ["PI_NO_LOCAL"]


def test_a_script_whose_key_is_missing_gets_an_error(untouched: Journey) -> None:
    may_use_the_embedded_model(untouched)
    for words in (["-p", "Say hello"], ["hello"], ["--mode", "json", "hello"]):
        ended = untouched.pi(*words)
        assert ended.code == 1
        assert ended.err.startswith("No API key found")
        for way in ("`pi auth login`", "--model demo/tour", "--model local"):
            assert way in ended.err
        assert "downloaded" not in ended.err


def test_on_a_terminal_the_embedded_model_is_named_before_it_is_used(untouched: Journey) -> None:
    may_use_the_embedded_model(untouched)
    with untouched.terminal("-p", "Say hello") as user:
        code = user.ends()  # there is no package index to download it from
    assert "No API key found; using SmolLM2" in user.tape
    assert code == 1


def test_a_name_lists_the_catalog_and_the_variable_to_set(untouched: Journey) -> None:
    ended = untouched.pi("models", "sonnet")

    assert ended.code == 0
    first = ended.out.splitlines()[2]
    assert first.split()[0] == "anthropic" and "sonnet" in first
    assert "set ANTHROPIC_API_KEY" in ended.out


def test_a_name_means_the_model_of_its_maker(untouched: Journey) -> None:
    for name, provider in (("sonnet", "anthropic"), ("gpt-5", "openai"), ("gemini", "google")):
        ended = untouched.pi("-p", "--model", name, "hello")
        assert ended.code == 1
        assert f"It is {provider}/" in ended.err


def test_the_scripted_tour_names_no_session(journey: Journey) -> None:
    journey.home.use_settings(titles={"enabled": True})
    with journey.terminal("--model", "demo/tour") as user:
        user.shows("tour")
        user.submits("hello")
        user.sees("That was the tour")
        user.submits("/name")
        user.sees("The session has no name.")


def test_the_scripted_tour_writes_no_hand_off(journey: Journey) -> None:
    with journey.terminal("--model", "demo/tour") as user:
        user.shows("tour")
        user.submits("hello")
        user.sees("That was the tour")
        user.submits("/handoff")
        user.shows("Hand off:")
        user.types(ENTER)
        user.sees("demo/tour cannot write documents.")


def test_a_search_tool_without_a_key_is_not_declared_and_each_mode_says_why_once(
    journey: Journey,
) -> None:
    reason = "web_search is not offered to the model. No web search provider configured."
    journey.home.use_recommended()

    ended = [journey.pi(*words) for words in (["-p", "hi"], ["-p", "hi"], ["--mode", "json", "hi"])]
    assert [reason in each.err for each in ended] == [True, False, True]
    with journey.rpc() as client:
        client.prompts("hi")
    assert sum(reason in line for line in client.lines) == 1
    with journey.terminal() as user:
        user.shows("Ask anything", "web_search is not offered to the model")
        user.leaves()
    assert all("web_search" not in journey.model.tools_of(i) for i in range(4))


def test_a_selected_tool_without_a_key_is_named_each_time(journey: Journey) -> None:
    for tool in ("web_search", "generate_image"):
        for _ in range(2):
            ended = journey.pi("-p", "--tools", f"read,{tool}", "hi")
            assert (ended.code, ended.err.count(f"{tool} is not offered to the model.")) == (0, 1)
            assert journey.model.tools_of() == ["read"]
