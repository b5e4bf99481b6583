from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.models.custom import parse_relaxed


def test_comments_and_trailing_commas_are_accepted() -> None:
    text = """\ufeff{
        // who
        "url": "http://x//y", /* not a
        comment: */ "list": [1, 2, ],
        "odd": "a,]",
    }"""

    assert parse_relaxed(text) == {"url": "http://x//y", "list": [1, 2], "odd": "a,]"}


def test_a_whole_number_is_one_however_it_is_written() -> None:
    read = parse_relaxed("[1e6, 8.0, 0.5, -2.50, 1e400]")

    assert read == [1_000_000, 8, 0.5, -2.5, math.inf]
    assert list(map(type, read)) == [int, int, float, float, float]


def test_nesting_without_end_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="recursion"):
        parse_relaxed("[" * 100_000)


def test_a_mistake_is_named_with_its_real_position() -> None:
    with pytest.raises(ValueError, match="byte 16"):
        parse_relaxed('{"a": 1 /*xx*/, b: 2}')


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_plain_json_means_what_it_always_means(value: object) -> None:
    assert parse_relaxed(json.dumps(value)) == json.loads(json.dumps(value))
