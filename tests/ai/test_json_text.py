from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.json_text import json_bytes, json_text, without_surrogates

any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


def test_json_is_compact_and_keeps_unicode_as_it_is() -> None:
    assert json_text({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'


@pytest.mark.trap(35)
def test_lone_surrogates_are_taken_out_wherever_they_hide() -> None:
    value = {"k\ud800": ["bad \ud800 end", {"deep": "\udfff"}], "ok": "\U0001f600"}

    assert json.loads(json_bytes(value)) == {
        "k": ["bad  end", {"deep": ""}],
        "ok": "\U0001f600",
    }


def test_two_halves_of_a_pair_become_one_character() -> None:
    assert without_surrogates("a\ud83d\ude00b") == "a\U0001f600b"


@given(any_json)
def test_any_value_can_be_sent(value: object) -> None:
    json.loads(json_bytes(value).decode())
