from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from msgspec import field

from pi.agent.tools.argument_values import (
    ArgumentIssue,
    decoding_issues,
    kind_of,
    literal,
    report,
    wrong_type,
)
from pi.base.records import Record
from tests.agent.schemas import json_values


class Point(Record):
    x: int
    names: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is left of the page")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "number"),
        (1.5, "number"),
        ("", "string"),
        ([], "array"),
        ((), "array"),
        ({}, "object"),
        (b"", "bytes"),
    ],
)
def test_kinds_are_named_as_in_json(value: Any, expected: str) -> None:
    assert kind_of(value) == expected


def test_a_type_error_names_the_expected_types_and_the_value() -> None:
    assert wrong_type(("a",), ["a string", "null", "null"], 5) == ArgumentIssue(
        location=("a",),
        message="must be a string or null (got number)",
        expected=("a string", "null"),
        got=5,
    )
    assert wrong_type((), ['"x"', "null"], "y").message == 'must be "x" or null (got "y")'
    assert wrong_type((), [], 1) == ArgumentIssue(location=(), message="is not accepted here")


def test_many_options_are_not_all_listed() -> None:
    says = wrong_type((), [str(number) for number in range(100)], "x").message
    assert says.endswith(', 19 or one of 80 other values (got "x")')


def test_long_values_are_truncated_and_excess_problems_are_counted() -> None:
    problems = [ArgumentIssue(location=("a", index), message="is wrong") for index in range(25)]
    received = {
        "text": "x" * 1000,
        "list": list(range(30)),
        "deep": [[[[[[[[[1]]]]]]]]],
        **{f"k{index}": 0 for index in range(30)},
    }
    reported = report("", problems, received).splitlines()
    assert reported[0] == "Validation failed:"
    assert reported[20:24] == ["  - a.19: is wrong", "  - and 5 more", "", "Received arguments:"]
    assert f'  "text": "{"x" * 200}… (1000 characters)",' in reported
    assert reported[-2:] == ['  "…": "…"', "}"]


@given(json_values)
def test_a_report_of_any_value_is_short(value: Any) -> None:
    assert len(report("x", [], value)) < 5000


def test_a_value_that_is_not_json_is_shown_with_its_python_repr() -> None:
    assert literal(b"x") == "\"b'x'\""
    assert literal("\\" * 200) == "string"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"x": "1"}, ArgumentIssue(location=("x",), message="Expected int, got str")),
        ({}, ArgumentIssue(location=(), message="Object missing required field x")),
        (
            {"x": 1, "names": {"a": [1, None]}},
            ArgumentIssue(location=("names", 1), message="Expected int, got null"),
        ),
        (
            {"x": 1, "names": {1: []}},
            ArgumentIssue(location=("names",), message="Expected str, got int"),
        ),
        ({"x": -1}, ArgumentIssue(location=(), message="x is left of the page")),
    ],
)
def test_a_msgspec_error_becomes_a_problem_with_its_path(
    value: Any, expected: ArgumentIssue
) -> None:
    with pytest.raises(msgspec.ValidationError) as failure:
        msgspec.convert(value, Point)
    assert decoding_issues(failure.value) == [expected]


def test_pydantic_errors_become_problems_with_their_paths() -> None:
    class Refusal(ValueError):
        def errors(self) -> list[dict[str, Any]]:
            return [{"loc": ("a", 0), "msg": "Input should be shorter", "type": "x"}]

    assert decoding_issues(Refusal()) == [
        ArgumentIssue(location=("a", 0), message="Input should be shorter")
    ]
