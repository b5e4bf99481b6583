"""Immutable records: everything the program saves, sends or compares."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec
from msgspec import UNSET, Meta, StructMeta, UnsetType, field
from msgspec.structs import replace

__all__ = ["UNREADABLE", "UNSET", "Meta", "Record", "UnsetType", "field", "replace"]

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""Exceptions of decoding for invalid JSON, or for JSON that does not fit the record.

A ``ValidationError`` is a ``DecodeError``. The others: invalid UTF-8, and nesting that is too deep.
"""


class _RecordType(StructMeta):
    """Makes every record frozen, keyword-only and camelCase on the wire."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        defaults: dict[str, Any] = {"frozen": True, "kw_only": True, "rename": "camel"}
        return super().__new__(mcls, name, bases, namespace, **(defaults | options))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Record(msgspec.Struct, frozen=True, kw_only=True, metaclass=_RecordType):
    """A frozen value; its methods only derive values from its fields.

    A field that may be absent on the wire is ``T | UnsetType = UNSET``.
    """
