from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import field

from pi.agent.tools.define import validator
from pi.agent.tools.json_schema import BadSchema
from pi.agent.tools.signatures import decoder_of, schema_of
from pi.agent.tools.tool import ToolFailed, Validate
from pi.ai.messages import Json
from pi.base.records import Record
from tests.agent.schemas import documents, json_values, values_of

READ: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"type": "integer", "minimum": 1, "default": 1},
    },
    "required": ["path"],
}


class Edit(Record):
    old_text: str
    new_text: str = ""


class EditParams(Record):
    path: str
    edits: tuple[Edit, ...]
    mode: str | int | None = None
    weights: dict[int, float] = field(default_factory=dict)


def typed(kind: type) -> Validate:
    return validator(schema_of(kind), tool="edit", decode=decoder_of(kind))


def complaint(validate: Validate, arguments: Any) -> str:
    with pytest.raises(ToolFailed) as failure:
        validate(arguments)
    return failure.value.message


def test_the_error_message_is_the_recorded_one() -> None:
    assert complaint(validator(READ, tool="read"), {}) == (
        'Validation failed for tool "read":\n'
        "  - path: must have required properties path\n\nReceived arguments:\n{}"
    )


@pytest.mark.behaviour("arguments-are-coerced")
def test_all_problems_are_reported_at_once_with_what_was_received() -> None:
    arguments = {"edits": [{"oldText": True}, {}], "mode": []}
    expected = """\
Validation failed for tool "edit":
  - edits.0.oldText: must be a string (got boolean)
  - edits.1.oldText: must have required properties oldText
  - mode: must be a string, an integer or null (got array)
  - path: must have required properties path

Received arguments:
{
  "edits": [
    {
      "oldText": true
    },
    {}
  ],
  "mode": []
}"""
    assert complaint(typed(EditParams), arguments) == expected


@pytest.mark.behaviour("arguments-are-coerced")
@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_missing_arguments_are_treated_as_an_empty_object(nothing: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    assert validator(schema)(nothing) == {"n": 3}


def test_arguments_that_are_not_an_object_are_reported() -> None:
    assert "  - arguments: must be an object (got array)\n" in complaint(validator(READ), [1])


def test_arguments_encoded_as_a_json_string_are_decoded() -> None:
    assert validator(READ)('{"path": "a"}') == {"path": "a", "offset": 1}  # type: ignore[arg-type]


def test_a_typed_tool_gets_arguments_of_its_own_type_with_its_defaults() -> None:
    validate = typed(EditParams)
    assert validate({"path": "a\n", "edits": '{"oldText": "x"}', "more": 1}) == EditParams(
        path="a", edits=(Edit(old_text="x"),)
    )


def test_a_problem_found_by_the_decoder_is_reported_in_the_same_way() -> None:
    arguments = {"path": "a", "edits": [], "weights": {"one": 1}}
    reported = complaint(typed(EditParams), arguments)
    assert reported.splitlines()[1] == "  - weights: Expected int, got str"


@pytest.mark.behaviour("bad-schema-is-isolated", "bad-registrations-are-refused")
@pytest.mark.parametrize("schema", [None, {"type": "array"}, {"properties": {"a": {"type": "?"}}}])
def test_a_broken_schema_is_refused_before_any_call(schema: Any) -> None:
    with pytest.raises(BadSchema, match=r'^Tool "mine" cannot be sent to models'):
        validator(schema, tool="mine")


def test_arguments_are_never_changed_in_place() -> None:
    arguments = {"path": "a\n", "offset": "5"}
    assert validator(READ)(arguments) == {"path": "a", "offset": 5}
    assert arguments == {"path": "a\n", "offset": "5"}


def test_defaults_are_copied_for_every_call() -> None:
    validate = validator({"properties": {"names": {"type": "array", "default": []}}})
    validate({})["names"].append("mine")
    assert validate({}) == {"names": []}


def test_a_value_that_is_nested_too_deeply_is_reported_as_a_problem() -> None:
    tree: Json = {"type": "object", "properties": {"kid": {"$ref": "#"}}}
    deep: Json = {}
    for _ in range(5000):
        deep = {"kid": deep}
    assert "  - arguments: are nested too deeply\n" in complaint(validator(tree), deep)


@settings(max_examples=30)
@given(st.data(), documents())
def test_valid_values_are_unchanged(data: st.DataObject, schema: Json) -> None:
    value = data.draw(values_of(schema, schema))
    mended = validator(schema)(value)
    assert msgspec.json.encode(mended) == msgspec.json.encode(value)


@settings(max_examples=40)
@given(documents(), json_values)
def test_any_value_is_coerced_to_a_valid_one_or_rejected(schema: Json, value: Any) -> None:
    validate = validator(schema)
    try:
        mended = validate(value)
    except ToolFailed as failure:
        assert len(failure.message) < 20_000
    else:
        assert msgspec.json.encode(validate(mended)) == msgspec.json.encode(mended)


@given(json_values)
def test_a_typed_tool_accepts_any_value_or_raises_tool_failed(value: Any) -> None:
    validate = typed(EditParams)
    for arguments in (value, {"path": "a", "edits": value, "weights": value, "mode": value}):
        try:
            assert isinstance(validate(arguments), EditParams)
        except ToolFailed:
            continue


@given(
    st.builds(
        EditParams,
        path=st.text("abc", min_size=1),
        edits=st.lists(st.builds(Edit, old_text=st.text(), new_text=st.text())).map(tuple),
        mode=st.none() | st.integers(-9, 9) | st.text(min_size=1),
        weights=st.dictionaries(st.integers(0, 9), st.floats(-9, 9)),
    )
)
def test_a_record_written_and_validated_is_the_same_record(record: EditParams) -> None:
    assert typed(EditParams)(msgspec.to_builtins(record, str_keys=True)) == record
