"""A conversation that does not fit the model, even after a compaction."""

from __future__ import annotations

from tests.journeys.model_server import fails, says
from tests.journeys.program import Journey

TOO_LONG = fails(400, "This model's maximum context length is 1000 tokens.")
TRIED = "Context overflow recovery failed: The conversation was compacted from"


def test_a_second_overflow_names_what_was_tried(journey: Journey) -> None:
    journey.home.use_settings(compaction={"keepRecentTokens": 5}, retry={"enabled": False})
    journey.model.when("<conversation>", says("A summary."))
    for _ in range(3):
        journey.pi("-p", "--continue", "word " * 50)
    journey.model.script(TOO_LONG, TOO_LONG)
    printed = journey.pi("-p", "--continue", "and now?")
    journey.model.script(TOO_LONG, TOO_LONG)
    with journey.terminal("--continue") as user:
        user.submits("and now?")
        user.sees(TRIED, "still does not fit")

    assert printed.code == 1
    assert TRIED in printed.err


def test_a_plan_without_long_context_leads_to_a_compaction(journey: Journey) -> None:
    journey.home.use_settings(compaction={"keepRecentTokens": 5})
    journey.model.when("<conversation>", says("A summary."))
    for _ in range(3):
        journey.pi("-p", "--continue", "word " * 50)
    journey.model.requests.clear()
    refusal = "Extra usage is required for long context requests."
    journey.model.script(fails(429, refusal), says("It fits."))
    printed = journey.pi("-p", "--continue", "and now?")

    assert (printed.code, printed.out) == (0, "It fits.\n")
    questions = [body for body in journey.model.requests if "<conversation>" not in str(body)]
    assert len(questions) == 2
