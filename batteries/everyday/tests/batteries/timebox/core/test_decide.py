from __future__ import annotations

import pytest
from hypothesis import given

from pi.batteries.timebox.core.budget import (
    Nudge,
    Ok,
    Reading,
    Stop,
    TimeboxBudget,
    decide,
    urgency,
)
from tests.batteries.timebox.core.budgets import BUDGETS, MINUTE, READINGS, at, budget

TEN = 10 * MINUTE


def test_below_80_percent_the_decision_is_ok() -> None:
    assert decide(budget(time=TEN, turns=10), at(7.99, turns=7)) == Ok()


def test_at_exactly_80_percent_of_the_time_the_decision_is_a_warning() -> None:
    assert decide(budget(time=TEN), at(8)) == Nudge("warning", "2m")


def test_at_95_percent_of_the_turns_the_nudge_is_critical() -> None:
    assert decide(budget(turns=20), at(turns=19)) == Nudge("critical", "1 turn")


def test_the_decision_is_stop_when_the_time_is_spent() -> None:
    held = budget(time=TEN, command="lmk done")

    assert decide(held, at(10, turns=3)) == Stop(held.used(at(10, turns=3)), "lmk done")


@pytest.mark.parametrize(("limit", "used"), [(2, 1), (3, 2), (4, 3)])
def test_the_start_of_the_last_turn_of_a_small_budget_is_a_nudge(limit: int, used: int) -> None:
    held = budget(turns=limit)

    assert decide(held, at(1, turns=used), turn_begins=True) == Nudge("warning", "1 turn")
    assert decide(held, at(1, turns=used)) == Ok()
    assert decide(held, at(1, turns=used - 1), turn_begins=True) == Ok()


def test_the_only_turn_of_a_budget_is_not_a_nudge() -> None:
    assert decide(budget(turns=1), at(), turn_begins=True) == Ok()
    assert decide(budget(time=TEN), at(1, turns=1), turn_begins=True) == Ok()


def test_the_decision_is_stop_when_the_turns_are_spent() -> None:
    held = budget(turns=5)

    assert decide(held, at(1, turns=4)) == Nudge("warning", "1 turn")
    assert decide(held, at(1, turns=5)) == Stop(held.used(at(1, turns=5)), None)
    assert decide(held, at(1, turns=6)) == Stop(held.used(at(1, turns=6)), None)


def test_tokens_and_cost_are_decided_like_the_other_limits() -> None:
    held = budget(tokens=1000, cost=2.0)

    assert decide(held, at(tokens=799, cost=1.59)) == Ok()
    assert decide(held, at(tokens=800)) == Nudge("warning", "200 tokens, $2.00")
    assert decide(held, at(cost=1.9)) == Nudge("critical", "1k tokens, $0.10")
    assert isinstance(decide(held, at(cost=2.0)), Stop)


def test_of_two_limits_the_worse_one_decides() -> None:
    held = budget(time=TEN, turns=20)

    assert decide(held, at(8, turns=19)) == Nudge("critical", "2m, 1 turn")
    assert decide(held, at(9.6, turns=16)) == Nudge("critical", "24s, 4 turns")
    assert isinstance(decide(held, at(10, turns=0)), Stop)
    assert isinstance(decide(held, at(0, turns=20)), Stop)


def test_a_nudged_budget_is_not_nudged_again_but_is_stopped() -> None:
    held = budget(time=TEN, nudged=True)

    assert decide(held, at(9)) == Ok()
    assert isinstance(decide(held, at(10)), Stop)


def test_a_spent_budget_always_decides_ok() -> None:
    assert decide(budget(time=TEN, active=False), at(20)) == Ok()


def test_limits_outside_of_the_selection_are_ignored() -> None:
    held = budget(time=TEN, cost=1.0)

    assert decide(held, at(20), among=("cost", "tokens")) == Ok()
    assert isinstance(decide(held, at(20), among=("cost", "time")), Stop)
    assert decide(held, at(20), among=()) == Ok()


def test_urgency_does_not_depend_on_earlier_notices() -> None:
    held = budget(time=TEN, nudged=True)

    assert [urgency(held, at(minutes)) for minutes in (7, 8, 9.5, 11)] == [
        None,
        "warning",
        "critical",
        "critical",
    ]


@given(BUDGETS, READINGS)
def test_only_an_active_budget_acts_and_never_nudges_twice(
    held: TimeboxBudget, reading: Reading
) -> None:
    decision = decide(held, reading)

    assert held.active or decision == Ok()
    assert not (held.soft_nudge_sent and isinstance(decision, Nudge))
    assert isinstance(decision, Stop) == (
        held.active and any(ratio >= 1 for ratio in held.ratios(reading).values())
    )
