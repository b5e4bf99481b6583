from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import BadAnswer
from pi.ai.json_text import (
    fitted,
    json_bytes,
    json_text,
    read_json,
    read_lenient,
    without_surrogates,
)

any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


def test_json_is_compact_and_does_not_escape_unicode() -> None:
    assert json_text({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'


@pytest.mark.behaviour("lone-surrogates-are-cleaned")
def test_lone_surrogates_are_removed_from_all_keys_and_values() -> None:
    value = {"k\ud800": ["bad \ud800 end", {"deep": "\udfff"}], "ok": "\U0001f600"}

    assert json.loads(json_bytes(value)) == {
        "k": ["bad  end", {"deep": ""}],
        "ok": "\U0001f600",
    }


def test_a_surrogate_pair_becomes_one_character() -> None:
    assert without_surrogates("a\ud83d\ude00b") == "a\U0001f600b"


@given(any_json)
def test_any_value_can_be_encoded(value: object) -> None:
    json.loads(json_bytes(value).decode())


# What arrives ------------------------------------------------------------------------------------


class Event(msgspec.Struct):
    text: str = ""
    index: int = 0


EVENTS = msgspec.json.Decoder(Event)
TOLERANT = msgspec.json.Decoder(Event, strict=False)


@given(any_json)
def test_encoded_json_is_read_back(value: object) -> None:
    assert read_json(json_bytes(value)) == json.loads(json_bytes(value))


@pytest.mark.parametrize("data", [b"", b" \n", b"[DONE]", b" [DONE]\n", b"null"])
def test_empty_data_is_read_as_none(data: bytes) -> None:
    assert read_json(data) is None
    assert read_lenient(EVENTS, data) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"text":"a\xffb"}', "a�b"),
        (b'{"text":"a\\ud83db"}', "ab"),
        (b'{"text":"a\\ud83d\\ude00b"}', "a\U0001f600b"),
        (b'{"text":"a\x01b"}', "a\x01b"),
    ],
    ids=["no UTF-8", "half a pair", "a pair", "raw control character"],
)
def test_an_invalid_byte_does_not_lose_an_event(data: bytes, text: str) -> None:
    assert read_json(data) == {"text": text}
    assert read_lenient(EVENTS, data) == Event(text=text)


@pytest.mark.parametrize("value", [None, [], 7, "x", {"text": 7}, {"index": "1.5"}])
def test_json_of_another_shape_is_read_as_none(value: object) -> None:
    assert fitted(value, EVENTS) is None
    assert read_lenient(EVENTS, json_bytes(value)) is None


def test_fitted_is_as_strict_as_its_decoder() -> None:
    assert fitted({"index": "1"}, EVENTS) is None
    assert fitted({"index": "1"}, TOLERANT) == Event(index=1)


@pytest.mark.parametrize("data", [b"<html>" + b"x" * 1000, b"{", b"[" * 100_000, b"\xff"])
def test_data_that_is_not_json_is_quoted_in_the_error(data: bytes) -> None:
    with pytest.raises(BadAnswer, match="The server sent an event that is not JSON: ") as found:
        read_lenient(EVENTS, data)

    assert len(found.value.message) < 300


@given(st.binary(max_size=60))
def test_any_data_is_read_or_raises_bad_answer(data: bytes) -> None:
    try:
        read_json(data)
    except BadAnswer as error:
        assert len(error.message) < 300
