"""Valid values are used, invalid ones are reported."""

from __future__ import annotations

from typing import Literal

import pytest

from pi.ai.messages import Json
from pi.base.records import Record
from pi.coding.settings.reading import read_record


class Inner(Record):
    depth: int = 1


class Outer(Record):
    some_name: str = "default"
    mode: Literal["a", "b"] = "a"
    inner: Inner = Inner()


def read(raw: object) -> tuple[Outer, list[str]]:
    warnings: list[str] = []
    return read_record(Outer, raw, warn=warnings.append), warnings


def test_a_missing_value_has_its_default_and_an_unknown_one_is_ignored() -> None:
    assert read({"unknown": 1}) == (Outer(), [])


@pytest.mark.behaviour("project-settings-merge")
@pytest.mark.parametrize(
    ("raw", "warning"),
    [
        ({"someName": 3}, 'Ignored setting "someName": expected `str`, got 3'),
        ({"mode": "c"}, 'Ignored setting "mode": expected a or b, got "c"'),
        ({"inner": {"depth": "x"}}, 'Ignored setting "inner.depth": expected `int`, got "x"'),
        ({"inner": [1]}, 'Ignored setting "inner": expected an object, got [1]'),
        ([], 'Ignored setting "": expected an object, got []'),
    ],
)
def test_a_value_of_the_wrong_type_is_ignored_and_named(raw: object, warning: str) -> None:
    assert read(raw) == (Outer(), [warning])


def test_an_invalid_value_does_not_affect_the_others() -> None:
    raw: Json = {"someName": "kept", "mode": 1, "inner": {"depth": 5}}
    outer, warnings = read(raw)

    assert (outer, len(warnings)) == (Outer(some_name="kept", inner=Inner(depth=5)), 1)
