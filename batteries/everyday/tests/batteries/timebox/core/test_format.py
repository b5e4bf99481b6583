from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.timebox.core.budget import (
    Amounts,
    Reading,
    TimeboxBudget,
    format_amounts,
    format_cost,
    format_span,
    format_time,
    format_tokens,
    format_turns,
    spent_line,
    status_line,
)
from pi.batteries.timebox.core.parse import parse_time_ms, parse_tokens
from tests.batteries.timebox.core.budgets import BUDGETS, LIMITS, MINUTE, READINGS, at, budget


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0s"),
        (59_000, "59s"),
        (60_000, "1m 0s"),
        (3_600_000, "1h 0m"),
        (3_661_000, "1h 1m"),
        (754_999, "12m 34s"),
        (360_000_000, "100h 0m"),
    ],
)
def test_durations_are_formatted(milliseconds: int, text: str) -> None:
    assert format_time(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0s"), (900_000, "15m"), (3_600_000, "1h"), (5_400_000, "1h 30m"), (90_000, "1m 30s")],
)
def test_a_time_span_is_formatted_with_two_units(milliseconds: int, text: str) -> None:
    assert format_span(milliseconds) == text


def test_amounts_are_formatted() -> None:
    assert [format_turns(turns) for turns in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]
    assert [
        format_tokens(tokens) for tokens in (0, 999, 1000, 1250, 200_000, 999_999, 1_500_000)
    ] == [
        "0 tokens",
        "999 tokens",
        "1k tokens",
        "1.2k tokens",
        "200k tokens",
        "999.9k tokens",
        "1.5M tokens",
    ]
    assert [format_cost(cost) for cost in (0, 2.5, 0.004)] == ["$0.00", "$2.50", "$0.00"]
    assert format_amounts({"cost": 2.5, "time": 900_000, "tokens": 1, "turns": 3}) == (
        "15m, 3 turns, 1 tokens, $2.50"
    )


def test_the_status_line_lists_the_remaining_amounts() -> None:
    both = budget(time=15 * MINUTE, turns=5)
    reading = at(15 - 12.5671, turns=2)

    assert status_line(both, reading) == ("Timebox: 12m 34s left (15m budget) | 3 turns left (2/5)")
    assert status_line(budget(time=15 * MINUTE), at(20)) == (
        "Timebox: 0s left (15m budget) | no turn limit"
    )
    assert status_line(budget(turns=5), at(1, turns=7)) == (
        "Timebox: no time limit | 0 turns left (5/5)"
    )
    assert status_line(budget(tokens=200_000, cost=2.5), at(1, tokens=80_000, cost=1.3)) == (
        "Timebox: no time limit | no turn limit"
        " | 120k tokens left (200k budget) | $1.20 left ($2.50 budget)"
    )


def test_the_spent_line_lists_the_used_amounts() -> None:
    both = budget(time=15 * MINUTE, turns=5)
    priced = budget(tokens=1000, cost=2.5)
    reading = at(3.04, turns=5, tokens=1500, cost=2.6)

    assert spent_line(both, both.used(reading)) == ("Timebox budget spent. Used 5 turns, 3m 2s.")
    assert spent_line(priced, priced.used(reading)) == (
        "Timebox budget spent. Used 5 turns, 3m 2s, 1.5k tokens, $2.60."
    )


@given(st.integers(0, 59 * 60 + 59))
def test_times_below_an_hour_are_exact(seconds: int) -> None:
    parts = format_time(seconds * 1000).split()

    assert sum(parse_time_ms(part) or 0 for part in parts) == seconds * 1000


@given(st.integers(0, 10**12))
def test_longer_durations_lose_less_than_a_minute(milliseconds: int) -> None:
    parsed = sum(parse_time_ms(part) or 0 for part in format_time(milliseconds).split())

    assert parsed <= milliseconds < parsed + MINUTE


@given(st.integers(0, 10**9))
def test_tokens_are_never_rounded_up(count: int) -> None:
    parsed = parse_tokens(f"tokens:{format_tokens(count).removesuffix(' tokens')}")

    assert parsed is not None
    assert parsed <= count <= parsed * 1.1 + 1


@given(LIMITS)
def test_every_limit_is_listed_once(limits: Amounts) -> None:
    assert format_amounts(limits).count(",") == len(limits) - 1


@given(BUDGETS, READINGS)
def test_a_status_line_has_one_line_of_a_fixed_format(
    held: TimeboxBudget, reading: Reading
) -> None:
    line = status_line(held, reading)

    time, turns, *more = line.removeprefix("Timebox: ").split(" | ")
    assert re.fullmatch(
        r"no time limit|\d+[hms]( \d+[ms])? left \(\d+[hms]( \d+[ms])? budget\)", time
    )
    assert re.fullmatch(r"no turn limit|(1 turn|\d+ turns) left \(\d+/\d+\)", turns)
    assert len(more) == len({"tokens", "cost"} & held.limits.keys())
