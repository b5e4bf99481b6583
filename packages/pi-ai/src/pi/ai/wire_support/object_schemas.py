"""Schemas for servers that accept only an object at the top. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pi.ai.messages import Json

_COMBINATORS = ("anyOf", "oneOf", "allOf")


def object_schema(parameters: Json) -> Json:
    """Return ``parameters`` as an object schema.

    One tool with another schema must not make every request fail: alternatives become one object
    with the properties of all.
    """
    if parameters.get("type") == "object" and not any(key in parameters for key in _COMBINATORS):
        return parameters
    properties: Json = {}
    for branch in _branches(parameters):
        if isinstance(own := branch.get("properties"), dict):
            properties = {**own, **properties}
    keywords = {key: value for key, value in parameters.items() if key not in _COMBINATORS}
    return {**keywords, "type": "object", "properties": properties}


def _branches(schema: Json) -> Iterator[Json]:
    yield schema
    for key in _COMBINATORS:
        branches = schema.get(key)
        if isinstance(branches, list):
            for branch in branches:
                if isinstance(branch, dict):
                    yield from _branches(branch)
