from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Usage
from pi.ai.wire.openai_completions.usage import parse_usage


@pytest.mark.behaviour("usage-is-counted-once")
@pytest.mark.parametrize(
    "reported",
    [
        {"prompt_tokens_details": {"cached_tokens": 100}},
        {"prompt_cache_hit_tokens": 100, "prompt_cache_miss_tokens": 10},
        {"cached_tokens": 100},
    ],
    ids=["openai", "deepseek", "moonshot"],
)
def test_cached_tokens_are_read_from_every_known_field_and_not_counted_twice(
    reported: dict[str, Any],
) -> None:
    counted = {"prompt_tokens": 110, "completion_tokens": 5, "total_tokens": 115, **reported}

    assert parse_usage(counted) == Usage(input=10, output=5, cache_read=100)


def test_written_cache_tokens_are_part_of_the_prompt() -> None:
    details = {"cached_tokens": 100, "cache_write_tokens": 20}

    assert parse_usage(
        {"prompt_tokens": 130, "completion_tokens": 5, "prompt_tokens_details": details}
    ) == Usage(input=10, output=5, cache_read=100, cache_write=20)


@pytest.mark.behaviour("usage-is-counted-once")
@pytest.mark.parametrize(
    ("completion", "total"), [(20, 32), (8, 32)], ids=["thoughts within", "thoughts beside"]
)
def test_reasoning_tokens_are_counted_once_in_the_output(completion: int, total: int) -> None:
    counted = {
        "prompt_tokens": 12,
        "completion_tokens": completion,
        "total_tokens": total,
        "completion_tokens_details": {"reasoning_tokens": 12},
    }

    assert parse_usage(counted) == Usage(input=12, output=20, reasoning=12)


@pytest.mark.behaviour("usage-is-not-erased")
@pytest.mark.parametrize(
    "counted",
    [
        None,
        [],
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": None, "completion_tokens": "many"},
        {"prompt_tokens": -4, "completion_tokens": float("nan")},
    ],
)
def test_missing_zero_and_invalid_counts_are_ignored(counted: object) -> None:
    assert parse_usage(counted) is None


numbers = st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.booleans()


@pytest.mark.behaviour("usage-is-not-erased")
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "prompt_tokens": numbers,
            "completion_tokens": numbers,
            "total_tokens": numbers,
            "prompt_tokens_details": st.dictionaries(
                st.sampled_from(["cached_tokens", "cache_write_tokens"]), numbers
            )
            | numbers,
            "completion_tokens_details": st.dictionaries(st.just("reasoning_tokens"), numbers),
        },
    )
)
def test_counts_are_never_negative_and_reasoning_never_exceeds_the_output(
    counted: dict[str, Any],
) -> None:
    usage = parse_usage(counted)

    if usage is not None:
        assert min(usage.input, usage.output, usage.cache_read, usage.cache_write) >= 0
        assert not isinstance(usage.reasoning, int) or 0 <= usage.reasoning <= usage.output
