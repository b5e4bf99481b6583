from __future__ import annotations

from typing import Any

import pytest

from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.answers import record_from_fields


class Shape(Record):
    name: str
    corners: tuple[int, ...] = ()


def test_a_record_is_created_from_its_fields() -> None:
    made = record_from_fields(Shape, {"name": "line", "corners": [1, 2]}, "A shape")

    assert made == Shape(name="line", corners=(1, 2))


@pytest.mark.parametrize("fields", [{}, {"name": "line", "colour": "red"}])
def test_invalid_fields_are_refused_with_the_valid_ones(fields: dict[str, Any]) -> None:
    with pytest.raises(ExtensionError, match="A shape is invalid: ") as error:
        record_from_fields(Shape, fields, "A shape")

    assert error.value.hint == "Valid fields: name, corners."
