"""Numbers for single models."""

from __future__ import annotations

import msgspec
import pytest

from pi.ai.messages import Json
from pi.ai.providers.faux import FAUX_MODEL
from pi.coding.compaction.automatic import is_automatic
from pi.coding.compaction.options import (
    BUILT_IN_STRATEGIES,
    BadTokens,
    BranchSummaryOptions,
    CompactionOptions,
    check_tokens,
    unknown_strategy,
)


def test_a_model_override_applies_per_field_and_to_its_model_only() -> None:
    raw = {
        "reserveTokens": 1,
        "modelOverrides": {
            "faux/faux": {"keepRecentTokens": 5},
            "faux/other": {"reserveTokens": 9},
        },
    }
    options = msgspec.convert(raw, CompactionOptions).for_model(FAUX_MODEL)

    assert (options.reserve_tokens, options.keep_recent_tokens) == (1, 5)


def test_compaction_is_not_automatic_when_disabled() -> None:
    assert is_automatic(CompactionOptions())
    assert not is_automatic(CompactionOptions(enabled=False))
    assert not is_automatic(CompactionOptions(strategy="off"))


@pytest.mark.parametrize(
    ("raw", "name", "literal"),
    [
        ({"reserveTokens": -1}, "reserveTokens", "-1"),
        ({"keepRecentTokens": 1.5}, "keepRecentTokens", "1.5"),
        ({"reserveTokens": 2**53}, "reserveTokens", str(2**53)),
        ({"reserveTokens": "many"}, "reserveTokens", '"many"'),
        (
            {"modelOverrides": {"a/b": {"keepRecentTokens": -2}}},
            "modelOverrides.a/b.keepRecentTokens",
            "-2",
        ),
    ],
)
def test_an_invalid_token_setting_is_rejected_with_its_name(
    raw: Json, name: str, literal: str
) -> None:
    with pytest.raises(BadTokens) as refused:
        check_tokens(raw)

    assert refused.value.message == (
        f"Invalid compaction.{name} setting: {literal}. Expected a non-negative safe integer."
    )


@pytest.mark.parametrize(
    "raw",
    [
        None,
        {},
        "text",
        {"reserveTokens": 0, "keepRecentTokens": 2**53 - 1},
        {"modelOverrides": {"a/b": {"reserveTokens": 1}, "c/d": None}},
    ],
)
def test_valid_token_settings_are_accepted(raw: object) -> None:
    check_tokens(raw)


def test_an_unknown_strategy_is_reported_with_the_known_ones() -> None:
    options = CompactionOptions(strategy="shaek")

    assert unknown_strategy(options, ["mine"]) == (
        'Unknown compaction.strategy "shaek": context-full is used.'
        " Known strategies: context-full, shake, off, mine"
    )
    assert unknown_strategy(CompactionOptions(strategy="mine"), ["mine"]) == ""
    for name in BUILT_IN_STRATEGIES:
        assert unknown_strategy(CompactionOptions(strategy=name)) == ""


def test_a_branch_summary_is_offered_unless_disabled() -> None:
    assert BranchSummaryOptions().asks
    assert not BranchSummaryOptions(enabled=False).asks
    assert not BranchSummaryOptions(skip_prompt=True).asks
