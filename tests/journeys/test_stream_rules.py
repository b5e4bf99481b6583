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
