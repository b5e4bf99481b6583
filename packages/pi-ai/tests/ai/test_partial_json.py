from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.tool_arguments import (
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
def test_arguments_are_parsed_in_every_known_encoding(
    text: str, arguments: dict[str, object] | None
) -> None:
    assert parse_arguments(text) == arguments


@pytest.mark.behaviour("anthropic-bad-tool-json")
def test_invalid_escapes_and_control_characters_in_strings_are_repaired() -> None:
    assert parse_arguments('{"a":"one\ntwo\t\\d"}') == {"a": "one\ntwo\t\\d"}
    assert parse_arguments('{"a":"\\u12"}') == {"a": "\\u12"}


def test_a_partial_object_contains_the_values_received_so_far() -> None:
    assert parse_partial('{"path":"a.tx') == {"path": "a.tx"}
    assert parse_partial("") == parse_partial("nonsense") == parse_partial("[1") == {}


@given(st.text())
def test_no_text_makes_parsing_raise(text: str) -> None:
    parse_partial(text)
    parse_arguments(text)


@given(objects, st.data())
def test_every_prefix_of_an_object_can_be_parsed(
    value: dict[str, object], data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = data.draw(st.integers(0, len(text)))

    assert set(parse_partial(text[:cut])) <= set(value)
    assert parse_arguments(text) == value


def test_extremely_deep_arguments_are_rejected_without_raising() -> None:
    text = '{"a":' * 100_000

    assert parse_arguments(text + "1" + "}" * 100_000) is None
    assert parse_partial(text) == {}


@pytest.mark.parametrize("rest", ["a" * 1_000_000, '\\"' * 100_000, "\\d" * 500_000])
def test_a_long_unterminated_string_is_parsed_in_linear_memory(rest: str) -> None:
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


def test_commas_and_brackets_inside_a_string_do_not_count_as_values() -> None:
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
def test_lone_surrogates_become_replacement_characters(text: str, path: str) -> None:
    assert parse_arguments(text) == {"path": path}


def test_lone_surrogates_in_partial_arguments_become_replacement_characters() -> None:
    assert parse_partial(r'{"content":"a\ud800b, and') == {"content": "a\ufffdb, and"}


def test_only_arguments_below_a_size_limit_are_repaired() -> None:
    assert parse_arguments('{"a":"\n"}') == {"a": "\n"}
    assert parse_arguments('{"a":"\n' + "a" * LARGEST_MENDED + '"}') is None
