from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.formats import (
    MAX_TOML,
    BadFormat,
    parse_front_matter,
    parse_json5,
    parse_jsonc,
    parse_toml,
    parse_yaml,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // one\n "b": [1, 2, ], /* two */ }', {"a": 1, "b": [1, 2]}),
        ('{"url": "http://x/*y*/", "s": "\\"//\\","}', {"url": "http://x/*y*/", "s": '"//",'}),
        ("\ufeff[1]", [1]),
        ("[1, // last\n /* and */ ]", [1]),
        ("[1, /* a */ 2 /* b */ ]", [1, 2]),
    ],
)
def test_comments_and_trailing_commas_are_ignored_in_jsonc(text: str, value: object) -> None:
    assert parse_jsonc(text) == value


@pytest.mark.parametrize("text", ["", "{", "[1,,2]", "/* open", "[" * 100_000, "{'a': 1}"])
def test_invalid_json_is_reported(text: str) -> None:
    with pytest.raises(BadFormat, match="is not valid JSON"):
        parse_jsonc(text)


def test_a_whole_number_is_parsed_as_an_integer_in_any_notation() -> None:
    read = parse_jsonc("[1e6, 8.0, 0.5, -2.50, 1e400]")

    assert read == [1_000_000, 8, 0.5, -2.5, math.inf]
    assert list(map(type, read)) == [int, int, float, float, float]


def test_an_error_is_reported_with_its_real_position() -> None:
    with pytest.raises(BadFormat, match="byte 16"):
        parse_jsonc('{"a": 1 /*xx*/, b: 2}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_plain_json_is_read_unchanged(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    assert parse_jsonc(text) == parse_json5(text) == value


def test_json5_allows_single_quotes_bare_keys_and_hexadecimal_numbers() -> None:
    assert parse_json5("{a: 'b', n: +0x10, /* c */ 'd': .5,}") == {"a": "b", "n": 16, "d": 0.5}


@pytest.mark.parametrize("text", ["{a: }", "[" * 100_000, ""])
def test_invalid_json5_is_reported(text: str) -> None:
    with pytest.raises(BadFormat, match="is not valid JSON5"):
        parse_json5(text)


def test_yaml_is_read() -> None:
    assert parse_yaml("a: [1, two]\nb: no\n") == {"a": [1, "two"], "b": "no"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "is not valid YAML"),
        ("x" * 1_100_000, "larger than"),
        ("- " * 50 + "x", "nested lists"),
        ("a: &a [x]\n" + "".join(f"b{n}: [*a, *a]\n" for n in range(20)), "aliases may expand"),
    ],
)
def test_invalid_and_expanding_yaml_is_reported(text: str, why: str) -> None:
    with pytest.raises(BadFormat, match=why):
        parse_yaml(text)


def test_toml_above_the_size_limit_is_rejected() -> None:
    with pytest.raises(BadFormat, match="larger than 1048576 characters"):
        parse_toml("a = 1\n#" + " " * MAX_TOML)


def test_toml_is_read() -> None:
    assert parse_toml('[tool.pi]\nname = "x"\n') == {"tool": {"pi": {"name": "x"}}}


@pytest.mark.parametrize("text", ["a = ", "a = " + "[" * 10_000, "a." * 1000 + "b = 1"])
def test_invalid_toml_is_reported(text: str) -> None:
    with pytest.raises(BadFormat, match="is not valid TOML"):
        parse_toml(text)


def test_front_matter_is_split_from_the_body() -> None:
    document = parse_front_matter("---\r\nname: x\r\n---\r\n\r\nBody.\r\n")

    assert (document.meta, document.body, document.has_meta) == ({"name": "x"}, "Body.", True)
    assert parse_front_matter("Body.").has_meta is False
    with pytest.raises(BadFormat, match="front matter: not a mapping"):
        parse_front_matter("---\n- a\n---\nx")
