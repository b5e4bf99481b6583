from __future__ import annotations

import pytest

from pi.ai.messages import Json, Tool
from pi.ai.wire_support.text_calls import grammar_of, text_arguments
from pi.base.records import replace

PATCH = Tool(
    name="patch",
    description="change a file",
    parameters={"type": "object", "properties": {"diff": {"type": "string"}}},
    constrained_sampling={
        "type": "grammar",
        "variants": {"openai_regex": ".+", "openai_lark": "start: /.+/"},
    },
)


def with_variants(variants: object) -> Tool:
    return replace(PATCH, constrained_sampling={"type": "grammar", "variants": variants})


def test_a_tool_with_a_grammar_takes_text_for_its_only_argument() -> None:
    assert text_arguments([PATCH]) == {"patch": "diff"}


@pytest.mark.parametrize(
    ("variants", "grammar"),
    [
        (
            {"openai_regex": ".+", "openai_lark": "start: /.+/"},
            {"syntax": "lark", "definition": "start: /.+/"},
        ),
        ({"openai_regex": ".+", "openai_lark": ""}, {"syntax": "regex", "definition": ".+"}),
        ({"other": "x"}, None),
        ({"openai_lark": 7}, None),
        ("start", None),
    ],
)
def test_the_first_supported_grammar_is_used(variants: object, grammar: Json | None) -> None:
    assert grammar_of(with_variants(variants)) == grammar


@pytest.mark.parametrize(
    "tool",
    [
        replace(PATCH, constrained_sampling=False),
        replace(PATCH, constrained_sampling={"type": "json_schema", "strict": "prefer"}),
        with_variants({"other": "x"}),
        replace(PATCH, parameters={"type": "object", "properties": {"a": {"type": "number"}}}),
        replace(PATCH, parameters={"type": "object", "properties": {"a": True}}),
        replace(PATCH, parameters={"type": "object", "properties": {}}),
        replace(PATCH, parameters={"type": "object"}),
        replace(
            PATCH, parameters={"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
        ),
    ],
    ids=[
        *("no constraint", "another constraint", "unknown grammar", "no text", "no schema"),
        *("no argument", "no properties", "two arguments"),
    ],
)
def test_a_tool_that_cannot_be_called_with_text_has_no_text_argument(tool: Tool) -> None:
    assert text_arguments([tool]) == {}
