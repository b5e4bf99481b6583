from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Json
from pi.ai.wire.google_generate.response import unflatten

DECLARED = frozenset({"edits", "options", "path", "dotted.name"})


@pytest.mark.behaviour("gemini-empty-stop-is-retried")
@pytest.mark.parametrize(
    ("flat", "whole"),
    [
        ({"edits[0].path": "a"}, {"edits": [{"path": "a"}]}),
        (
            {"path": "p", "edits[1].b": 2, "edits[0].b": 1, "edits[0].c": 3},
            {"path": "p", "edits": [{"b": 1, "c": 3}, {"b": 2}]},
        ),
        ({"edits[0]": "a", "edits[1]": "b"}, {"edits": ["a", "b"]}),
        ({"options.deep.er": 1, "options.x": [2]}, {"options": {"deep": {"er": 1}, "x": [2]}}),
        ({"edits[0][1].x": 1}, {"edits": [[{"x": 1}]]}),
        ({"edits[999999999999]": "a"}, {"edits": ["a"]}),
    ],
)
def test_flattened_keys_are_merged_into_objects_and_lists(flat: Json, whole: Json) -> None:
    assert unflatten(flat, DECLARED) == whole


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a.b[0]"},
        {"dotted.name": 1},
        {"unknown.key": 1, "unknown[0]": 2},
        {"edits[0": 1, "edits..x": 2, ".edits": 3, "edits[x]": 4},
        {"edits": [], "edits[0].path": "a"},
        {"edits[0]": "a", "edits[0].path": "b"},
        {"edits[0].path": "a", "edits[0]": "b"},
        {"edits[0]": "a", "edits.path": "b"},
        {"options": {"edits[0]": 1}},
    ],
)
def test_declared_names_and_unmatched_keys_are_not_changed(arguments: Json) -> None:
    assert unflatten(arguments, DECLARED) == arguments


PATHS = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1)
    ),
    max_leaves=6,
)


def flattened(value: Any, at: str) -> Json:
    if isinstance(value, list):
        items = [flattened(item, f"{at}[{index}]") for index, item in enumerate(value)]
    elif isinstance(value, dict):
        items = [flattened(item, f"{at}.{key}") for key, item in value.items()]
    else:
        return {at: value}
    return {key: item for part in items for key, item in part.items()}


@given(PATHS)
def test_unflattening_restores_any_flattened_value(value: Any) -> None:
    assert unflatten(flattened(value, "edits"), DECLARED) == {"edits": value}


@given(st.dictionaries(st.text(alphabet="edits.[]01", max_size=12), st.integers()))
def test_unflattening_any_key_does_not_raise(arguments: Json) -> None:
    unflatten(arguments, DECLARED)
