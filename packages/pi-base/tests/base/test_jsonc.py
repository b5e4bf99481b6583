"""Values in JSON with comments are changed, and everything else stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.formats import parse_jsonc
from pi.base.jsonc import edited_jsonc

TEXT = """// head
{
  "a": 1, // one
  /* block */
  "b": {
    "x": [1, 2,], // list
    "y": "z"  // last
  },
  "c": true,
}
// tail
"""


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ('{"a": 1} // x', {"a": 2}, '{"a": 2} // x'),
        ("{} // x", {"a": 1}, '{\n  "a": 1\n} // x'),
        ('{"a": 1,}', {"a": 1, "b": 2}, '{"a": 1, "b": 2,}'),
        ('{"a": 1 /*c*/}', {"a": 1, "b": 2}, '{"a": 1, "b": 2 /*c*/}'),
        ('{"a": 1, /*x*/ "b": 2}', {"a": 1}, '{"a": 1 /*x*/ }'),
        ('{\n\t"a": 1, // x\n\t"b": 2\n}', {"b": 2}, '{\n\t // x\n\t"b": 2\n}'),
        ('{\n\t"a": 1 // x\n}', {"a": 1, "b": [1]}, '{\n\t"a": 1, // x\n\t"b": [\n\t\t1\n\t]\n}'),
        ('{\n  "a": {},\n  // x\n  "b": 2,\n}', {"a": {}}, '{\n  "a": {},\n  // x\n}'),
        ('{"a": 1, "a": 2} // x', {"a": 3}, '{ "a": 3} // x'),
    ],
)
def test_one_change_keeps_comments_commas_and_indentation(
    before: str, values: dict[str, Any], after: str
) -> None:
    assert edited_jsonc(before, values) == after


def test_unchanged_values_change_nothing() -> None:
    assert edited_jsonc(TEXT, parse_jsonc(TEXT)) == TEXT


_NAMES = st.sampled_from(["a", "b", "c", "x", "y", 'q"//,'])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "//", "a,]}", "ü"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=5), min_size=1, max_size=3))
def test_any_series_of_changes_gives_the_values_and_keeps_the_frame(
    series: list[dict[str, Any]],
) -> None:
    text = TEXT
    for values in series:
        text = edited_jsonc(text, values)
        assert parse_jsonc(text) == values
        assert text.startswith("// head\n{")
        assert text.endswith("}\n// tail\n")
