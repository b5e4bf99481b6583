"""Reads JSON leniently into a record: values of the wrong type are reported and left out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from pi.ai.messages import Json
from pi.base.records import Record

R = TypeVar("R", bound=Record)

Warn: TypeAlias = Callable[[str], None]


def read_record(kind: type[R], raw: object, *, warn: Warn, section: str = "") -> R:
    """Return a ``kind`` with every value of ``raw`` that has the right type.

    Other values are reported by name and keep their default; unknown names are ignored.
    """
    if not isinstance(raw, dict):
        warn(f'Ignored setting "{section}": expected an object, got {_as_json(raw)}')
        raw = {}
    if raw.keys().isdisjoint(kind.__struct_encode_fields__):
        return kind()
    fields: Json = {}
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    for field, written in names:
        if written in raw:
            name = f"{section}.{written}" if section else written
            value, type_ = raw[written], _type_of(kind, field)
            try:
                fields[field] = _value(type_, value, warn, name)
            except msgspec.ValidationError as error:
                warn(ignored(name, error, type_, value))
    return kind(**fields)


def ignored(name: str, error: msgspec.ValidationError, kind: Any, value: object) -> str:
    """Return the warning about a setting whose value is not of the type ``kind``."""
    return f'Ignored setting "{name}": {_reason(error, kind)}, got {_as_json(value)}'


def _type_of(kind: type[Record], field: str) -> Any:
    """Return the type of one field.

    ``msgspec.structs.fields`` evaluates the annotations of all fields. A settings file sets few of
    them, and evaluating the others took 1.5 % of every start.
    """
    owner = next(base for base in kind.__mro__ if field in vars(base).get("__annotations__", ()))
    annotation = owner.__annotations__[field]
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, vars(sys.modules[owner.__module__]), vars(owner))


def _value(kind: Any, value: object, warn: Warn, name: str) -> object:
    if isinstance(kind, type) and issubclass(kind, Record):
        return read_record(kind, value, warn=warn, section=name)
    return msgspec.convert(value, kind)


def _reason(error: msgspec.ValidationError, kind: Any) -> str:
    text = str(error).split(" - at ")[0].split(", got ")[0]
    if text.startswith("Invalid enum value"):  # msgspec names neither the enum nor its values
        return f"expected {' or '.join(_choices(kind))}"
    return text[:1].lower() + text[1:]


def _choices(kind: Any) -> Iterator[str]:
    """Yield the values of a ``Literal``, also inside of a union or a container."""
    if get_origin(kind) is Literal:
        yield from map(str, get_args(kind))
    else:
        for part in get_args(kind):
            yield from _choices(part)


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()[:60]
