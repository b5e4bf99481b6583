from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.timebox.core.budget import TimeboxBudget
from pi.batteries.timebox.core.persist import (
    Active,
    Off,
    Restored,
    budget_from_json,
    budget_to_json,
    record_from_json,
    record_to_json,
    restore,
)
from tests.batteries.timebox.core.budgets import BUDGETS, MINUTE, START, at, budget

TEN = budget(time=10 * MINUTE)
ORIGINAL = {
    "timeLimitMs": 900_000,
    "turnLimit": 3,
    "startTime": START,
    "startTurn": 2,
    "softNudgeSent": False,
    "active": True,
    "onStopCommand": "lmk done",
}
"""A budget as the original keeps it."""


def test_without_records_no_budget_is_restored() -> None:
    assert restore([], at(1)) == Restored("none")


def test_a_budget_with_time_left_is_restored() -> None:
    assert restore([Active(TEN)], at(5)) == Restored("restored", TEN)


def test_a_budget_without_time_left_has_expired() -> None:
    assert restore([Active(TEN)], at(10)) == Restored("expired")


def test_a_budget_that_was_spent_has_expired() -> None:
    assert restore([Active(budget(turns=5, active=False))], at(1)) == Restored("expired")


def test_a_newer_off_wins() -> None:
    assert restore([Active(TEN), Off(START)], at(1)) == Restored("none")


def test_a_newer_budget_wins() -> None:
    older = Active(budget(turns=5))

    assert restore([older, Off(START), Active(TEN)], at(1)) == Restored("restored", TEN)


def test_the_nudged_state_of_a_restored_budget_follows_from_its_usage() -> None:
    nudged = budget(time=10 * MINUTE, turns=5, nudged=True)
    fresh = budget(time=10 * MINUTE, turns=5)

    assert restore([Active(fresh)], at(8.5)) == Restored("restored", nudged)
    assert restore([Active(fresh)], at(1, turns=4)) == Restored("restored", nudged)
    assert restore([Active(nudged)], at(1)) == Restored("restored", fresh)


def test_a_budget_without_turns_left_is_restored_as_nudged() -> None:
    restored = restore([Active(budget(turns=5))], at(1, turns=5))

    assert restored == Restored("restored", budget(turns=5, nudged=True))


def test_a_record_of_the_original_is_read_and_written_unchanged() -> None:
    held = budget_from_json(ORIGINAL)

    assert held == TimeboxBudget(
        limits={"time": 900_000, "turns": 3},
        start={"time": START, "turns": 2},
        on_stop_command="lmk done",
    )
    assert json.dumps(budget_to_json(held)) == json.dumps(ORIGINAL)


def test_limits_that_the_original_does_not_support_are_in_additional_fields() -> None:
    held = budget(time=900_000, tokens=200_000, cost=2.5)

    assert budget_to_json(held) == {
        "timeLimitMs": 900_000,
        "turnLimit": None,
        "tokenLimit": 200_000,
        "costLimit": 2.5,
        "startTime": START,
        "startTurn": 0,
        "startTokens": 0,
        "startCost": 0.0,
        "softNudgeSent": False,
        "active": True,
        "onStopCommand": None,
    }


def test_an_older_record_without_a_command_is_parsed() -> None:
    older = {name: value for name, value in ORIGINAL.items() if name != "onStopCommand"}

    held = budget_from_json(older)
    assert held is not None
    assert held.on_stop_command is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        "15m",
        [],
        {},
        {**ORIGINAL, "timeLimitMs": None, "turnLimit": None},
        {**ORIGINAL, "timeLimitMs": "15m", "turnLimit": True},
        {**ORIGINAL, "startTime": None},
        {**ORIGINAL, "startTurn": -1},
        {**ORIGINAL, "startTime": float("nan")},
        {**ORIGINAL, "startTime": float("inf")},
    ],
)
def test_invalid_budgets_are_parsed_as_none(data: object) -> None:
    assert budget_from_json(data) is None


@given(BUDGETS)
def test_a_saved_budget_is_parsed_unchanged(held: TimeboxBudget) -> None:
    stored = json.loads(json.dumps(budget_to_json(held)))

    again = budget_from_json(stored)
    assert again is not None
    assert budget_to_json(again) == budget_to_json(held)
    assert again.limits == held.limits


@given(st.builds(Active, BUDGETS) | st.builds(Off, st.integers(0, 2 * START)))
def test_a_record_is_parsed_by_its_kind(record: Active | Off) -> None:
    stored = record_to_json(record)

    again = record_from_json(json.loads(json.dumps(stored)))
    assert again is not None
    assert record_to_json(again) == stored


@pytest.mark.parametrize(
    "data", [None, {}, {"kind": "off"}, {"kind": "active", "budget": {}}, {"kind": "paused"}]
)
def test_invalid_records_are_parsed_as_none(data: object) -> None:
    assert record_from_json(data) is None
