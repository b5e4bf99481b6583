from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Json, Usage
from pi.ai.wire.anthropic_messages.usage import counted

START = Usage(input=110, output=1)


def test_all_counts_are_read() -> None:
    counts = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 15},
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
    }

    assert counted(Usage(), counts) == Usage(
        input=10, output=7, cache_read=100, cache_write=20, cache_write_1h=15, reasoning=3
    )


@pytest.mark.behaviour("usage-is-not-erased")
@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": None, "output_tokens": None, "cache_creation": None},
        {"input_tokens": "9", "output_tokens": True, "cache_creation": []},
        {"input_tokens": -1, "output_tokens": float("nan")},
    ],
)
def test_empty_or_zero_counts_change_nothing(counts: Json) -> None:
    assert counted(START, counts) == START


@pytest.mark.behaviour("usage-is-counted-once")
def test_input_that_turns_out_to_be_cached_is_not_counted_twice() -> None:
    later = {"input_tokens": 0, "cache_read_input_tokens": 110, "output_tokens": 5}

    assert counted(START, later) == Usage(input=0, cache_read=110, output=5)


def test_one_hour_cache_writes_are_kept_if_the_last_event_omits_them() -> None:
    first = {
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_1h_input_tokens": 20},
    }
    last = {"input_tokens": 3, "cache_creation_input_tokens": 20, "output_tokens": 5.0}

    assert counted(counted(Usage(), first), last) == Usage(
        input=3, output=5, cache_write=20, cache_write_1h=20
    )


@given(
    st.dictionaries(
        st.sampled_from(["input_tokens", "output_tokens", "cache_creation"]),
        st.none() | st.integers() | st.floats() | st.text() | st.dictionaries(st.text(), st.text()),
    )
)
def test_counts_of_any_type_result_in_non_negative_usage(counts: Json) -> None:
    usage = counted(Usage(), counts)

    assert usage.input >= 0
    assert usage.output >= 0
