"""What the timebox of pi does beyond its specification: tokens, cost, and runs without a user."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pi.ai.events import Start
from pi.ai.messages import Cost
from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.timebox.adapters.pi import SPENT
from pi.batteries.timebox.core.timebox import USAGE
from pi.extension import AssistantMessage, Done, Failed, ModelRequest, StopRun, StreamEvent, Usage
from tests.batteries.timebox.adapters.fake_pi import MINUTE, START, FakePi, stored_entry

ASKED = ModelRequest(model=FAUX_MODEL, messages=(), purpose="summary")


async def test_cost_is_checked_before_every_request_from_the_total_of_the_log() -> None:
    pi = FakePi()
    pi.answered(Usage(output=900, cost=Cost(total=1.0)))
    await pi.command("cost:2.00")

    assert await through(pi, Usage(cost=Cost(total=1.5))) == ["start", "done"]
    await pi.request()
    assert pi.notified[-1] == ("info", "Timebox set: $2.00.")
    await through(pi, Usage(cost=Cost(total=0.5)))
    with pytest.raises(StopRun) as stop:
        await pi.request()

    assert stop.value.reason == "Timebox budget spent. Used 0 turns, 0s, $2.00."
    assert stop.value.exit_code == SPENT
    assert pi.recorded[0] == stored_entry(costLimit=2.0, startCost=1.0)


async def test_requests_outside_of_a_run_are_refused_when_the_budget_is_spent() -> None:
    pi = FakePi()
    await pi.command("tokens:1k")
    await through(pi, Usage(output=1000))

    assert await through(pi, Usage(output=1000)) == ["error"]
    assert pi.notified[-1][0] == "error"
    assert await pi.prompt() is None  # the user was notified, and continues


async def test_the_usage_of_a_restored_budget_comes_from_the_log() -> None:
    pi = FakePi()
    pi.answered(Usage(output=5000))
    await pi.command("tokens:1k")
    pi.answered(Usage(output=400))

    again = await pi.reload()

    assert again.statuses == [
        "Timebox: no time limit | no turn limit | 600 tokens left (1k budget)"
    ]


async def test_requests_are_counted_only_with_a_token_or_cost_limit() -> None:
    pi = FakePi()

    counted = []
    for arguments in ("turns:5", "cost:1", "tokens:5k turns:5", "15m", "cost:1", "off"):
        await pi.command(arguments)
        counted.append(len(pi.wraps))

    assert counted == [0, 1, 1, 0, 1, 0]


async def through(pi: FakePi, usage: Usage) -> list[str]:
    """The kinds of events of a request that passes through the wrap."""

    async def ask(request: ModelRequest) -> AsyncIterator[StreamEvent]:
        yield Start()
        yield Done(reason="stop", message=AssistantMessage(usage=usage))

    (wrap,) = pi.wraps
    events = [event async for event in wrap(ASKED, ask)]
    if isinstance(events[-1], Failed):
        assert events[-1].error.model == FAUX_MODEL.id
        assert "Timebox budget spent" in str(events[-1].error.error_message)
    names = {Start: "start", Done: "done", Failed: "error"}
    return [names[type(event)] for event in events]  # type: ignore[index]


async def test_the_flag_sets_a_budget_when_the_program_starts_and_not_again() -> None:
    pi = FakePi(flag="15m turns:3")
    await pi.start()
    pi.now += MINUTE

    again = await pi.reload()

    assert pi.recorded == [stored_entry(timeLimitMs=900_000, turnLimit=3)]
    assert again.notified == [
        ("info", "Restored. Timebox: 14m 0s left (15m budget) | 3 turns left (0/3)")
    ]


async def test_the_flag_replaces_the_budget_of_the_session() -> None:
    pi = FakePi()
    await pi.command("15m")
    again = FakePi(flag="turns:3", entries=pi.entries)

    await again.start()

    assert again.notified == [("info", "Timebox set: 3 turns.")]


async def test_without_a_user_an_invalid_flag_refuses_all_prompts() -> None:
    for flag in ("15m turn:3", "soon", "status"):
        pi = FakePi(mode="print", flag=flag)

        await pi.start()

        refusal = f"The budget of the command line is invalid: {flag!r}. {USAGE} (1)"
        assert [await pi.prompt(), await pi.prompt()] == [refusal, refusal]
        assert pi.recorded == []


async def test_the_flag_can_turn_a_budget_of_the_session_off() -> None:
    pi = FakePi()
    await pi.command("turns:0")
    again = FakePi(mode="print", flag="off", entries=pi.entries)

    await again.start()

    assert again.recorded[1:] == [("timebox-off", {"disabledAt": START})]
    assert await again.prompt() is None


async def test_with_a_user_an_invalid_flag_is_a_warning() -> None:
    pi = FakePi(flag="soon")

    await pi.start()

    assert (pi.notified, await pi.prompt()) == ([("warning", USAGE)], None)


async def test_the_time_is_checked_before_every_request() -> None:
    print_mode, screen = FakePi(mode="print", flag="10m"), FakePi(flag="10m")

    outcomes = []
    for pi in (print_mode, screen):
        await pi.start()
        await pi.turn()
        await pi.say()
        pi.now += 10 * MINUTE
        try:
            await pi.request()
            outcomes.append("asked")
        except StopRun as stop:
            outcomes.append(stop.reason)

    assert outcomes == ["Timebox budget spent. Used 1 turn, 10m 0s."] * 2


async def test_without_a_user_a_spent_budget_stops_all_later_prompts() -> None:
    pi = FakePi(mode="json", flag="turns:1")
    await pi.start()

    outcomes = [await pi.prompt() for _ in range(3)]

    stopped = f"Timebox budget spent. Used 1 turn, 0s. ({SPENT})"
    assert outcomes == [None, stopped, stopped]
