"""Rules about the text of answers: what the model is told after a match."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


@pytest.mark.parametrize("interrupts", [True, False])
def test_the_model_is_told_that_it_was_interrupted_only_if_it_was(
    journey: Journey, interrupts: bool
) -> None:
    mode = "always" if interrupts else "never"
    journey.home.use_settings(ttsr={"enabled": True, "interruptMode": mode})
    journey.home.write_work(
        ".pi/rules/words.md", "---\ncondition: FORBIDDEN\nscope: text\n---\nNo such words."
    )
    journey.model.says("This word is FORBIDDEN here, as you know very well.", "I take it back.")
    ended = journey.pi("--approve", "-p", "talk")

    told = str(journey.model.last["messages"][-1]["content"])
    assert ended.out == "I take it back.\n"
    assert "No such words." in told
    assert ("Your answer was interrupted" in told) == interrupts
    assert ("It was not interrupted." in told) != interrupts


@pytest.mark.parametrize("mode", ["print", "json", "rpc", "acp", "terminal"])
def test_a_condition_that_cannot_be_used_is_named_in_every_mode(
    journey: Journey, mode: str
) -> None:
    journey.home.use_settings(ttsr={"enabled": True})
    journey.home.write("rules/words.md", "---\ncondition: '[unclosed'\n---\nNo such words.")
    if mode == "terminal":
        with journey.terminal() as user:
            user.sees("Rule words", "unclosed [")
        return
    if mode == "rpc":
        with journey.rpc() as client:
            client.prompts("hello")
        shown = str(client.events("extension_ui_request"))
    elif mode == "acp":
        with journey.acp() as editor:
            editor.prompts(editor.opens(), "hello")
        shown = str(editor.updates)
    else:
        shown = journey.pi(*(["-p"] if mode == "print" else ["--mode", "json"]), "hello").err
    assert shown.count("Rule words") == 1, shown
