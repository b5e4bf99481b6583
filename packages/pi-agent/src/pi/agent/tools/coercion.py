"""Converts arguments to the types of a JSON Schema, without guessing. Pure.

Models write ``"5"`` for 5 and 5 for ``"5"``, a list as a JSON string, one object for a list of
one. Valid values are not changed, convertible ones are converted, the rest becomes a list of
issues.
"""

from __future__ import annotations

import copy
import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import UNSET

from pi.agent.tools.argument_values import (
    TYPE_WORDS,
    ArgumentIssue,
    Location,
    convert,
    has_type,
    json_equal,
    kind_of,
    literal,
    match_option,
    names_a_path,
    wrong_type,
)
from pi.agent.tools.json_schema import FlatSchemas, Schema, types_of
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json

LIMITS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "exclusiveMaximum": (operator.lt, "less than"),
}
SIZES = {
    "string": ("minLength", "maxLength", "character"),
    "array": ("minItems", "maxItems", "item"),
    "object": ("minProperties", "maxProperties", "field"),
}


class Coercion:
    """One pass over one value; ``apply`` returns the converted value.

    ``issues`` lists what could not be converted; ``converted`` counts conversions, ``dropped``
    unknown properties.
    """

    def __init__(self, schemas: FlatSchemas, *, fill_defaults: bool) -> None:
        self.issues: list[ArgumentIssue] = []
        self.converted = 0
        self.dropped = 0
        self._schemas = schemas
        self._fill_defaults = fill_defaults

    def apply(self, value: Any, schema: Schema, location: Location = ()) -> Any:
        """Return ``value`` converted to ``schema``."""
        flat = self._schemas.flat(schema)
        if "const" in flat or "enum" in flat:
            options = [flat["const"]] if "const" in flat else flat["enum"]
            return self._choice(value, options, location)
        value = self._of_type(value, flat, location)
        match value:
            case str():
                value = self._text(value, flat, location)
            case int() | float() if not isinstance(value, bool):
                self._number(value, flat, location)
            case list() | tuple():
                value = self._array(value, flat, location)
            case dict():
                value = self._object(value, flat, location)
            case _ if value is UNSET:
                return None
        for part in flat.get("allOf", ()):
            value = self.apply(value, part, location)
        for keyword in ("anyOf", "oneOf"):
            if keyword in flat:
                value = self._union(value, flat[keyword], location)
        return value

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was changed."""
        return not (self.issues or self.converted or self.dropped)

    def _add_issue(self, location: Location, message: str) -> None:
        self.issues.append(ArgumentIssue(location=location, message=message))

    def _mend(self, value: Any) -> Any:
        self.converted += 1
        return value

    # ---------------------------------------------------------------------------------------------

    def _choice(self, value: Any, options: Sequence[Any], location: Location) -> Any:
        if any(json_equal(value, option) for option in options):
            return value
        option = match_option(value, options)
        if option is not UNSET:
            return self._mend(option)
        self.issues.append(wrong_type(location, map(literal, options), value))
        return value

    def _of_type(self, value: Any, schema: Json, location: Location) -> Any:
        """Return ``value`` as one of the types, or ``UNSET`` after reporting an issue."""
        types = types_of(schema)
        if not types or has_type(value, types):
            return value
        for name in types:
            converted = convert(value, name)
            if converted is UNSET and name == "array":
                converted = self._list_of_one(value, schema)
            if converted is not UNSET:
                return self._mend(converted)
        self.issues.append(wrong_type(location, (TYPE_WORDS[name] for name in types), value))
        return UNSET

    def _list_of_one(self, value: Any, schema: Json) -> Any:
        entry = convert(value, "object") if isinstance(value, str) else value
        items = schema.get("items", True)
        if not isinstance(entry, dict) or isinstance(items, list):
            return UNSET
        types = types_of(self._schemas.flat(items))
        return UNSET if types and "object" not in types else [entry]

    def _text(self, value: str, schema: Json, location: Location) -> str:
        if value.endswith(("\n", "\r")) and ("format" in schema or names_a_path(location)):
            value = self._mend(value.rstrip("\r\n"))
        self._size(value, schema, location)
        pattern = schema.get("pattern")
        if pattern is not None and (regex := _regex(pattern)) and not regex.search(value):
            self._add_issue(location, f"must match the pattern {pattern} (got {literal(value)})")
        return value

    def _number(self, value: float, schema: Json, location: Location) -> None:
        for keyword, (holds, phrase) in LIMITS.items():
            limit = schema.get(keyword)
            if limit is None or isinstance(limit, bool):  # draft 4 has a boolean exclusiveMinimum
                continue
            if not holds(value, limit):
                self._add_issue(location, f"must be {phrase} {limit} (got {literal(value)})")
        step = schema.get("multipleOf")
        if step is not None and not _is_multiple(value, step):
            self._add_issue(location, f"must be a multiple of {step} (got {literal(value)})")

    def _size(self, value: str | list[Any] | Json, schema: Json, location: Location) -> None:
        least, most, unit = SIZES[kind_of(value)]
        for keyword, holds, bound in ((least, operator.ge, "least"), (most, operator.le, "most")):
            limit = schema.get(keyword)
            if limit is not None and not holds(len(value), limit):
                units = unit if limit == 1 else f"{unit}s"
                self._add_issue(
                    location, f"must have at {bound} {limit} {units} (got {len(value)})"
                )

    def _array(self, value: Sequence[Any], schema: Json, location: Location) -> list[Any]:
        items = schema.get("items", True)
        first = items if isinstance(items, list) else schema.get("prefixItems", ())
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        converted = [
            self.apply(item, first[index] if index < len(first) else rest, (*location, index))
            for index, item in enumerate(value)
        ]
        if schema.get("uniqueItems") is True:
            unique = list({json_bytes(item): item for item in converted}.values())
            converted = converted if len(unique) == len(converted) else self._mend(unique)
        self._size(converted, schema, location)
        return converted

    # ---------------------------------------------------------------------------------------------

    def _object(self, value: Json, schema: Json, location: Location) -> Json:
        properties: Json = schema.get("properties", {})
        required = schema.get("required", ())
        converted: Json = {}
        for name, item in value.items():
            part = properties[name] if name in properties else _extra(name, schema)
            if part is False and name not in properties:
                self.dropped += 1
            elif name in properties and name not in required and self._is_blank(item, part):
                self.converted += 1
            else:
                converted[name] = self.apply(item, part, (*location, name))
        if self._fill_defaults:
            self._fill(converted, properties)
        for name in dict.fromkeys(required):
            if name not in converted:
                self._add_issue((*location, name), f"must have required properties {name}")
        self._size(converted, schema, location)
        return converted

    def _fill(self, converted: Json, properties: Json) -> None:
        for name, part in properties.items():
            if name not in converted and "default" in (flat := self._schemas.flat(part)):
                # a copy: the tool may change what it gets
                converted[name] = copy.deepcopy(flat["default"])

    def _is_blank(self, item: Any, schema: Schema) -> bool:
        """Whether an optional property was only filled with a placeholder."""
        if item is None:
            return not self._accepts(None, schema)
        if item != "" or self._schemas.flat(schema).get("default") == "":
            return False
        return self._is_open_text(schema) or not self._accepts("", schema)

    def _is_open_text(self, schema: Schema) -> bool:
        """Whether any string is accepted."""
        flat = self._schemas.flat(schema)
        if "enum" in flat or "const" in flat:
            return False
        arms = (*flat.get("anyOf", ()), *flat.get("oneOf", ()))
        return "string" in types_of(flat) or any(map(self._is_open_text, arms))

    def _accepts(self, value: Any, schema: Schema) -> bool:
        trial = self._trial()
        trial.apply(value, schema)
        return trial.is_unchanged

    # ---------------------------------------------------------------------------------------------

    def _trial(self) -> Coercion:
        return Coercion(self._schemas, fill_defaults=self._fill_defaults)

    def _union(self, value: Any, arms: Sequence[Schema], location: Location) -> Any:
        """Return ``value`` for the alternative it fits unchanged, else for the one with fewest
        conversions.
        """
        trials: list[tuple[Coercion, Any]] = []
        for arm in arms:
            trial = self._trial()
            result = trial.apply(value, arm, location)
            if trial.is_unchanged:
                return result
            trials.append((trial, result))
        if converted := [pair for pair in trials if not pair[0].issues]:
            trial, result = min(converted, key=lambda pair: (pair[0].dropped, pair[0].converted))
            self.converted += trial.converted
            self.dropped += trial.dropped
            return result
        self.issues += _nearest([trial.issues for trial, _ in trials], location)
        return value


def _nearest(tries: list[list[ArgumentIssue]], location: Location) -> list[ArgumentIssue]:
    """Return the issues of the closest alternative.

    If all alternatives reject the value at one location, one issue lists what they expect there.
    """
    fitting = [
        issues
        for issues in tries
        if not any(issue.expected and issue.location == location for issue in issues)
    ] or tries
    locations = [{issue.location for issue in issues if issue.expected} for issues in fitting]
    if not (common := set.intersection(*locations)):
        return min(fitting, key=len)
    common_location = min(common, key=len)
    at_location = [
        issue for issues in fitting for issue in issues if issue.location == common_location
    ]
    expected = [word for issue in at_location for word in issue.expected]
    return [wrong_type(common_location, expected, at_location[0].got)]


def _extra(name: str, schema: Json) -> Schema:
    """Return the schema for a property that is not declared."""
    patterns: dict[str, Schema] = schema.get("patternProperties", {})
    others: Schema = schema.get("additionalProperties", True)
    matching = (
        part for text, part in patterns.items() if (regex := _regex(text)) and regex.search(name)
    )
    return next(matching, others)


@lru_cache(maxsize=256)
def _regex(pattern: str) -> re.Pattern[str] | None:
    """Compile the pattern; ``None`` for an unsupported dialect, which is not checked."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        return abs(math.remainder(value, step)) <= 1e-9 * step
    except (OverflowError, ValueError):
        return True  # beyond float precision
