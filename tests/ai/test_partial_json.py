from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.json_text import (
    LARGEST_MENDED,
    MAX_VALUES,
    parse_arguments,
    parse_partial,
    refusal_reason,
)

objects = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=5) | st.none(),
    max_size=4,
)


@pytest.mark.behaviour("argument-forms-are-equal")
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a":1}', {"a": 1}),
        (json.dumps('{"a":1}'), {"a": 1}),
        ("[1]", None),
        ("null", None),
        ('{"a":', None),
    ],
)
def test_arguments_are_understood_however_they_were_encoded(
    text: str, arguments: dict[str, object] | None
) -> None:
    assert parse_arguments(text) == arguments


@pytest.mark.behaviour("anthropic-bad-tool-json")
def test_slips_inside_strings_are_mended() -> None:
    assert parse_arguments('{"a":"one\ntwo\t\\d"}') == {"a": "one\ntwo\t\\d"}
    assert parse_arguments('{"a":"\\u12"}') == {"a": "\\u12"}


def test_half_an_object_shows_what_has_arrived() -> None:
    assert parse_partial('{"path":"a.tx') == {"path": "a.tx"}
    assert parse_partial("") == parse_partial("nonsense") == parse_partial("[1") == {}


@given(st.text())
def test_no_text_makes_parsing_raise(text: str) -> None:
    parse_partial(text)
    parse_arguments(text)


@given(objects, st.data())
def test_every_beginning_of_an_object_parses(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = data.draw(st.integers(0, len(text)))

    assert set(parse_partial(text[:cut])) <= set(value)
    assert parse_arguments(text) == value


def test_arguments_nested_beyond_all_reason_are_refused_and_do_not_raise() -> None:
    text = '{"a":' * 100_000

    assert parse_arguments(text + "1" + "}" * 100_000) is None
    assert parse_partial(text) == {}


@pytest.mark.parametrize("rest", ["a" * 1_000_000, '\\"' * 100_000, "\\d" * 500_000])
def test_a_long_string_without_an_end_is_parsed_in_linear_time_and_memory(rest: str) -> None:
    text = '{"content":"' + rest
    tracemalloc.start()
    try:
        assert parse_arguments(text) is None
        assert parse_partial('{"content":"' + "a" * 1_000_000)["content"] == "a" * 1_000_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 40 * len(text)


def test_arguments_with_too_many_values_are_refused_with_the_limit() -> None:
    text = '{"a":[[]' + ",[]" * MAX_VALUES + "]}"

    assert parse_arguments(text) is None
    assert parse_partial(text) == {}
    assert refusal_reason(text) == "they hold more than 1,000,000 values"
    assert parse_arguments(json.dumps(text)) is None


def test_commas_of_a_long_text_are_no_values() -> None:
    content = "a,b[{" * MAX_VALUES

    assert parse_arguments(json.dumps({"content": content, "path": "x"})) == {
        "content": content,
        "path": "x",
    }


def test_arguments_that_are_nested_too_deeply_are_refused_with_the_reason() -> None:
    text = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"

    assert parse_arguments(text) is None
    assert refusal_reason(text) == "they are nested too deeply"
    assert refusal_reason('{"a":') == ""


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r'{"path":"a\ud800b"}', "a\ufffdb"),
        (r'{"path":"\udc00"}', "\ufffd"),
        (r'{"path":"\ud83d\ude00"}', "\U0001f600"),
        (r'{"path":"\\ud800"}', r"\ud800"),
        ('{"path":"raw \ud800"}', "raw \ufffd"),
        (json.dumps(r'{"path":"twice \ud800"}'), "twice \ufffd"),
    ],
)
def test_halves_of_characters_become_replacement_characters(text: str, path: str) -> None:
    assert parse_arguments(text) == {"path": path}


def test_what_is_shown_of_arguments_while_they_arrive_has_replacement_characters() -> None:
    assert parse_partial(r'{"content":"a\ud800b, and') == {"content": "a\ufffdb, and"}


def test_only_arguments_of_a_usual_size_are_mended() -> None:
    assert parse_arguments('{"a":"\n"}') == {"a": "\n"}
    assert parse_arguments('{"a":"\n' + "a" * LARGEST_MENDED + '"}') is None
