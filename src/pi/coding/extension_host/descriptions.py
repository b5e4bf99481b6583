"""Records that extensions describe with dicts of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pi.base.records import Record
from pi.coding.extension_host.failures import ExtensionError

R = TypeVar("R", bound=Record)


def described(kind: type[R], fields: Mapping[str, Any], what: str) -> R:
    """The record with these fields; ``ExtensionError`` that names those there are, if others.

    ``what`` begins the message. Lists become tuples, which is what records hold.
    """
    try:
        return kind(**with_tuples(fields))
    except TypeError as problem:
        raise ExtensionError(
            f"{what} cannot be understood: {problem}",
            hint=f"Describe it by these names: {', '.join(kind.__struct_fields__)}.",
        ) from problem


def with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """``fields`` as records hold them: people write lists."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
