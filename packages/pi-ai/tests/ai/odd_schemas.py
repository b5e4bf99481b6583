"""Schemas for tests: valid ones, and random malformed ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pi.ai.messages import Json

KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"),
        *("$defs", "required", "additionalProperties", "not", "prefixItems", "description"),
    ]
)
WORDS = ["string", "object", "array", "null", "#/$defs/x", "#", "#/properties/items"]


def of(**properties: Any) -> Json:
    """An object with these properties."""
    return {"type": "object", "properties": properties}


def odd_schemas() -> st.SearchStrategy[Json]:
    """Real keywords with values of any kind."""
    leaves = st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS)
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
        max_leaves=10,
    )
    return st.dictionaries(KEYWORDS, values, max_size=5)
