from __future__ import annotations

from hypothesis import given

from pi.batteries.timebox.core.budget import Reading, TimeboxBudget
from tests.batteries.timebox.core.budgets import BUDGETS, MINUTE, READINGS, at, budget


def test_usage_is_counted_from_the_start_of_the_budget() -> None:
    held = TimeboxBudget(limits={"turns": 5}, start=at(0, turns=7, tokens=100, cost=1.5))

    assert held.used(at(2, turns=9, tokens=350, cost=2.0)) == {
        "time": 2 * MINUTE,
        "turns": 2,
        "requests": 0,
        "tokens": 250,
        "cost": 0.5,
    }


def test_a_clock_that_jumps_back_and_a_shorter_fork_count_as_zero_usage() -> None:
    held = TimeboxBudget(limits={"turns": 5}, start=at(0, turns=7))

    assert held.used(at(-10, turns=3)) == {
        "time": 0,
        "turns": 0,
        "requests": 0,
        "tokens": 0,
        "cost": 0,
    }


def test_remaining_amounts_are_listed_for_each_limit() -> None:
    held = budget(time=15 * MINUTE, turns=5)

    assert held.remaining(at(2, turns=9)) == {"time": 13 * MINUTE, "turns": 0}


def test_a_limit_of_zero_is_spent_immediately() -> None:
    assert budget(turns=0, cost=0.0).ratios(at()) == {"turns": 1.0, "cost": 1.0}


@given(BUDGETS, READINGS)
def test_nothing_remains_of_a_limit_exactly_when_it_is_spent(
    held: TimeboxBudget, reading: Reading
) -> None:
    remaining, ratios = held.remaining(reading), held.ratios(reading)

    assert {dimension for dimension in remaining if remaining[dimension] == 0} == {
        dimension for dimension, ratio in ratios.items() if ratio >= 1
    }
