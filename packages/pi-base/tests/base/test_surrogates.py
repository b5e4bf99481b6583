from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

AWKWARD = st.text(st.sampled_from('a"\\\n\ud800\udbff\udc00\udfff\u2028u'), max_size=12)


@given(AWKWARD)
def test_surrogate_escapes_are_replaced_like_surrogate_characters(text: str) -> None:
    mended = replace_surrogate_escapes(json.dumps(text).encode())

    assert json.loads(mended) == replace_surrogates(text)


def test_surrogates_in_nested_values_are_replaced() -> None:
    value = {"k\ud800": ["x\udfff", ("\ud83d\ude00", 1), None]}

    assert replace_surrogates(value) == {"k\ufffd": ["x\ufffd", ["\U0001f600", 1], None]}


@pytest.mark.parametrize("text", [rb"\d" * 500_000, rb"\ud83d\ude00" * 80_000, b"a" * 1_000_000])
def test_text_without_lone_surrogates_costs_little_memory(text: bytes) -> None:
    tracemalloc.start()
    try:
        assert replace_surrogate_escapes(text) == text
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 4 * len(text)
