"""Immutable values: everything the program saves, sends or compares."""

from __future__ import annotations

from typing import Any, TypeVar, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, StructMeta, UnsetType, field

__all__ = ["UNREADABLE", "UNSET", "Meta", "Record", "UnsetType", "field", "replace"]

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding raises for bytes or text that is no JSON, or not the record that it should be.

A ``ValidationError`` is a ``DecodeError``. The others: what is not UTF-8, nesting without end.
"""


class _RecordType(StructMeta):
    """Makes every record frozen, keyword-only and camelCase on the wire."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        house: dict[str, Any] = {"frozen": True, "kw_only": True, "rename": "camel"}
        return super().__new__(mcls, name, bases, namespace, **(house | options))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Record(msgspec.Struct, frozen=True, kw_only=True, metaclass=_RecordType):
    """A value with fields and no behaviour beyond questions about itself.

    A field that may be absent on the wire is ``T | UnsetType = UNSET``.
    """


R = TypeVar("R", bound=Record)


def replace(record: R, **changes: Any) -> R:
    """A copy of ``record`` with some fields changed."""
    return msgspec.structs.replace(record, **changes)
