"""Settings as records: each value is taken if it fits, and named if it does not. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import fields

from pi.ai.messages import Json
from pi.base.records import Record

R = TypeVar("R", bound=Record)

Warn: TypeAlias = Callable[[str], None]


def read_record(kind: type[R], raw: object, *, warn: Warn, where: str = "") -> R:
    """A ``kind`` with every value of ``raw`` that has the right type.

    What does not fit is told with its name and keeps its default; unknown names are not our
    business.
    """
    if not isinstance(raw, dict):
        warn(f'Ignored setting "{where}": expected an object, got {_shown(raw)}')
        raw = {}
    if raw.keys().isdisjoint(kind.__struct_encode_fields__):
        return kind()  # before types are looked at, which takes longer than all the rest
    taken: Json = {}
    for field in fields(kind):
        if field.encode_name in raw:
            name = f"{where}.{field.encode_name}" if where else field.encode_name
            value = raw[field.encode_name]
            try:
                taken[field.name] = _value(field.type, value, warn, name)
            except msgspec.ValidationError as problem:
                warn(f'Ignored setting "{name}": {_reason(problem)}, got {_shown(value)}')
    return kind(**taken)


def _value(kind: Any, value: object, warn: Warn, name: str) -> object:
    if isinstance(kind, type) and issubclass(kind, Record):
        return read_record(kind, value, warn=warn, where=name)
    return msgspec.convert(value, kind)


def _reason(problem: msgspec.ValidationError) -> str:
    text = str(problem).split(" - at ")[0].split(", got ")[0]
    return text[:1].lower() + text[1:]


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()[:60]
