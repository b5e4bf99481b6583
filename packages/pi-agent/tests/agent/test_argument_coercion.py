from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pi.agent.tools.argument_values import convert, has_type, json_equal, match_option, names_a_path
from tests.agent.schemas import json_values


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        (5, ["integer"], True),
        (5, ["number"], True),
        (5.0, ["integer"], False),
        (True, ["integer", "number"], False),
        (None, ["string", "null"], True),
        ([], ["object"], False),
    ],
)
def test_a_value_has_a_json_type_only_without_conversion(
    value: Any, types: list[str], expected: bool
) -> None:
    assert has_type(value, types) is expected


@pytest.mark.parametrize(
    ("value", "json_type", "expected"),
    [
        ("+7", "integer", 7),
        ("7.00", "integer", 7),
        ("7.5", "integer", UNSET),
        ("٧", "integer", UNSET),
        ("1_000", "integer", UNSET),
        ("9" * 31, "integer", UNSET),
        (float("inf"), "integer", UNSET),
        ("7", "number", 7),
        ("0.5", "number", 0.5),
        ("nan", "number", UNSET),
        ("yes", "boolean", UNSET),
        ("nothing", "null", UNSET),
        ("\ud800[]", "array", UNSET),
        ('["\ud800"]', "array", UNSET),
        ("[" * 9999 + "]" * 9999, "array", UNSET),
        ("[]", "object", UNSET),
        ("x", "string", UNSET),
        (7, "string", "7"),
        (True, "string", UNSET),
    ],
)
def test_only_unambiguous_values_are_converted(value: Any, json_type: str, expected: Any) -> None:
    result = convert(value, json_type)
    assert (result, type(result)) == (expected, type(expected))


@given(json_values, st.sampled_from(["integer", "number", "boolean", "null", "array", "object"]))
def test_a_converted_value_has_the_requested_type(value: Any, json_type: str) -> None:
    result = convert(value, json_type)
    assert result is UNSET or has_type(result, [json_type])


def test_true_and_1_are_not_equal_in_json() -> None:
    assert (json_equal(True, 1), json_equal(1, 1.0), json_equal(None, 0)) == (False, True, False)


def test_an_enum_option_is_matched_only_if_exactly_one_has_that_spelling() -> None:
    assert match_option("B", ["a", "b"]) == "b"
    assert match_option("B", ["b", "b "]) is UNSET
    assert match_option("c", ["a", [1]]) is UNSET
    assert match_option([1], [[2]]) is UNSET


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("path",), True),
        (("edits", 0, "filePath"), True),
        (("files", 3), True),
        (("outputDirectory",), True),
        (("profile",), False),
        (("path_text",), False),
        ((0,), False),
        ((), False),
    ],
)
def test_path_arguments_are_recognised_by_the_last_word_of_their_name(
    place: tuple[str | int, ...], expected: bool
) -> None:
    assert names_a_path(place) is expected
