from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.timebox.core.budget import Amounts
from pi.batteries.timebox.core.parse import (
    COMPLETIONS,
    Invalid,
    SetBudget,
    ShowStatus,
    TimeboxCommand,
    TurnOff,
    parse,
    parse_cost,
    parse_time_ms,
    parse_tokens,
    parse_turns,
)
from tests.batteries.timebox.core.budgets import LIMITS


@pytest.mark.parametrize(
    ("word", "milliseconds"),
    [
        ("15m", 900_000),
        ("30s", 30_000),
        ("2h", 7_200_000),
        ("1.5h", 5_400_000),
        ("90", 5_400_000),
        ("15M", 900_000),
        ("15 m", 900_000),
        ("0.1s", 100),
        ("abc", None),
        ("", None),
        ("15x", None),
        ("-5m", None),
        ("1e3", None),
        ("١٥m", None),
        ("1234567890", None),
    ],
)
def test_durations_are_parsed(word: str, milliseconds: int | None) -> None:
    assert parse_time_ms(word) == milliseconds


@pytest.mark.parametrize(
    ("word", "turns"),
    [("turns:5", 5), ("TURNS: 10", 10), ("turns:", None), ("turns:abc", None), ("turns:1.5", None)],
)
def test_turn_limits_are_parsed(word: str, turns: int | None) -> None:
    assert parse_turns(word) == turns


@pytest.mark.parametrize(
    ("word", "tokens"),
    [
        ("tokens:200k", 200_000),
        ("tokens:1.5M", 1_500_000),
        ("Tokens: 500", 500),
        ("tokens:0.5", 0),
        ("tokens:", None),
        ("tokens:2g", None),
    ],
)
def test_token_limits_are_parsed(word: str, tokens: int | None) -> None:
    assert parse_tokens(word) == tokens


@pytest.mark.parametrize(
    ("word", "dollars"),
    [
        ("cost:2.50", 2.5),
        ("COST:$3", 3.0),
        ("cost: 0.01", 0.01),
        ("cost:2,50", None),
        ("2.5$", None),
    ],
)
def test_cost_limits_are_parsed(word: str, dollars: float | None) -> None:
    assert parse_cost(word) == dollars


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("15m", SetBudget({"time": 900_000})),
        ("turns:5", SetBudget({"turns": 5})),
        ("15m turns:3", SetBudget({"time": 900_000, "turns": 3})),
        ("cost:2.50 tokens:200k", SetBudget({"cost": 2.5, "tokens": 200_000})),
        ("  turns: 5   15 m ", SetBudget({"turns": 5, "time": 900_000})),
        ("tokens: 200 k", SetBudget({"tokens": 200_000})),
        ("1h 30m", SetBudget({"time": 1_800_000})),
        ("15m nonsense turns:x", SetBudget({"time": 900_000}, None, ("nonsense", "turns:x"))),
        ("15m -- lmk done", SetBudget({"time": 900_000}, "lmk done")),
        ("15m -- a  'b  c' -- d ", SetBudget({"time": 900_000}, "a  'b  c' -- d")),
        ("15m --", SetBudget({"time": 900_000})),
        ("15m --x", SetBudget({"time": 900_000}, None, ("--x",))),
        ("-- lmk done", Invalid()),
        ("", Invalid()),
        ("   ", Invalid()),
        ("15x", Invalid()),
        ("off", TurnOff()),
        ("Disable", TurnOff()),
        ("cancel 15m", TurnOff()),
        ("status", ShowStatus()),
        (" STATUS ", ShowStatus()),
    ],
)
def test_command_texts_are_parsed(text: str, parsed: TimeboxCommand) -> None:
    assert parse(text) == parsed


@pytest.mark.parametrize("word", COMPLETIONS)
def test_every_offered_completion_is_valid(word: str) -> None:
    assert not isinstance(parse(word), Invalid)


@given(LIMITS, st.sampled_from([str.lower, str.upper]))
def test_formatted_limits_are_parsed_unchanged(limits: Amounts, case: Callable[[str], str]) -> None:
    forms = {
        "time": "{:.0f}s",
        "turns": "turns:{:.0f}",
        "tokens": "tokens:{:.0f}",
        "cost": "cost:{:.2f}",
    }
    scale = {"time": 1000}
    text = " ".join(forms[limit].format(limits[limit] / scale.get(limit, 1)) for limit in limits)

    assert parse(case(text)) == SetBudget(limits)


@given(st.text())
def test_arbitrary_text_never_raises(text: str) -> None:
    parsed = parse(text)

    assert not isinstance(parsed, SetBudget) or parsed.limits
