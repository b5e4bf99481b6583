from __future__ import annotations

import enum
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import pytest
from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.json_schema import BadSchema
from pi.agent.tools.signatures import decoder_of, schema_of, schema_of_function
from pi.agent.tools.tool import ToolContext
from pi.base.records import Record


class Color(enum.Enum):
    RED = "red"


class Edit(Record):
    """One replacement."""

    old_text: Annotated[str, Meta(description="What to find", min_length=1)]
    new_text: str = ""


class Params(Record, forbid_unknown_fields=True):
    edits: tuple[Edit, ...]
    last: Annotated[Edit, Meta(description="The last one")] | UnsetType = UNSET
    mode: Literal["fast", "slow"] | None = None


class Cut(Record, tag="cut"):
    at: int


class Join(Record, tag="join"):
    with_: str


class Node(Record):
    kids: tuple[Node, ...] = ()


@dataclass
class Point:
    x: int
    names: list[str] = field(default_factory=list)


class Options(TypedDict, total=False):
    deep: bool


EDIT = {
    "type": "object",
    "description": "One replacement.",
    "properties": {
        "oldText": {"type": "string", "description": "What to find", "minLength": 1},
        "newText": {"type": "string", "default": ""},
    },
    "required": ["oldText"],
}


def test_the_schema_of_a_record_has_no_references() -> None:
    assert schema_of(Params) == {
        "type": "object",
        "properties": {
            "edits": {"type": "array", "items": EDIT},
            "last": {**EDIT, "description": "The last one"},
            "mode": {"anyOf": [{"enum": ["fast", "slow"]}, {"type": "null"}], "default": None},
        },
        "required": ["edits"],
        "additionalProperties": False,
    }


def test_a_union_of_records_is_decoded_by_its_tags() -> None:
    assert schema_of(Cut | Join) == {
        "anyOf": [
            {
                "type": "object",
                "properties": {"type": {"enum": ["cut"]}, "at": {"type": "integer"}},
                "required": ["type", "at"],
            },
            {
                "type": "object",
                "properties": {"type": {"enum": ["join"]}, "with": {"type": "string"}},
                "required": ["type", "with"],
            },
        ]
    }


def test_a_recursive_record_keeps_one_reference() -> None:
    kids = {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []}
    node = {"type": "object", "properties": {"kids": kids}, "required": []}
    assert schema_of(Node) == {**node, "$defs": {"Node": node}}


def test_dataclasses_and_typed_dicts_are_described_and_decoded() -> None:
    assert schema_of(Point)["properties"] == {
        "x": {"type": "integer"},
        "names": {"type": "array", "items": {"type": "string"}},
    }
    assert decoder_of(Point)({"x": 1}) == Point(1)
    assert schema_of(Options)["properties"] == {"deep": {"type": "boolean"}}
    assert decoder_of(Options)({"deep": True, "more": 1}) == {"deep": True}


def test_a_type_without_a_schema_is_refused() -> None:
    class Unknown(Record):
        what: object

    with pytest.raises(BadSchema, match=r"^Unknown cannot be described to a model: "):
        schema_of(Unknown)


NOT_JSON = object()


async def search(
    query: str,
    edit: Edit,
    limit: Annotated[int, Meta(ge=1, description="How many")] = 10,
    where: Annotated[str, "In which place"] = "here",
    color: Color = Color.RED,
    since: int = None,  # type: ignore[assignment]  # noqa: RUF013
    skip: list[str] = ["a"],  # noqa: B006
    odd: Any = NOT_JSON,
    *,
    ctx: ToolContext | None,
) -> str:
    """Search the web.

    query: what to look for
    edit: of the page
    limit: is said better by the annotation
    """
    return query


def test_a_function_is_described_by_its_signature_and_docstring() -> None:
    form = schema_of_function(search)
    assert form.description == "Search the web."
    assert form.context == "ctx"
    assert form.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "edit": {**EDIT, "description": "of the page"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many", "default": 10},
            "where": {"type": "string", "description": "In which place", "default": "here"},
            "color": {"enum": ["red"], "default": "red"},
            "since": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "skip": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
            "odd": {},
        },
        "required": ["edit", "query"],
    }
    assert list(form.parameters["properties"])[:3] == ["query", "edit", "limit"]


def test_arguments_are_decoded_to_the_parameter_types_of_the_function() -> None:
    form = schema_of_function(search)
    arguments = {"query": "x", "edit": {"oldText": "y"}, "color": "red", "more": 1}
    assert form.decode(arguments) == {
        "query": "x",
        "edit": Edit(old_text="y"),
        "color": Color.RED,
    }


def test_a_function_without_parameters_has_an_empty_object_schema() -> None:
    def now() -> str:
        return "12:00"

    form = schema_of_function(now)
    assert form.parameters == {"type": "object", "properties": {}, "required": []}
    assert (form.decode({}), form.context, form.description) == ({}, "", "")


def test_optional_hints_are_not_made_optional_twice() -> None:
    def find(a: int | None = None, b: Annotated[int | None, "B"] = None) -> None: ...

    properties = schema_of_function(find).parameters["properties"]
    either = [{"type": "integer"}, {"type": "null"}]
    assert properties == {
        "a": {"anyOf": either, "default": None},
        "b": {"anyOf": either, "description": "B", "default": None},
    }


def test_a_partial_is_described_by_its_remaining_parameters() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    form = schema_of_function(partial(add, 1))
    assert (list(form.parameters["properties"]), form.description) == (["b"], "")


def untyped(query) -> None: ...  # type: ignore[no-untyped-def]


def many(*queries: str) -> None: ...


def by_place(query: str, /) -> None: ...


def unknown(query: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            untyped,
            "The parameter query of untyped() has no type. Annotate it, with Any if need be.",
        ),
        (many, "The parameter queries of many() cannot be passed by name."),
        (by_place, "The parameter query of by_place() cannot be passed by name."),
        (unknown, "Cannot read the signature of unknown(): name 'Missing' is not defined."),
        (5, "Cannot read the signature of int(): 5 is not a callable object."),
    ],
)
def test_a_function_that_cannot_be_called_by_name_is_refused(function: Any, why: str) -> None:
    with pytest.raises(BadSchema) as refusal:
        schema_of_function(function)
    assert refusal.value.explain().startswith(why)
