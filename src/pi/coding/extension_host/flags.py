"""Options of the command line that extensions add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.extension_host.failures import ExtensionError

FlagKind: TypeAlias = Literal["boolean", "string"]
FlagValue: TypeAlias = bool | str | None


class Following(str):
    """A word that follows an option: its value if the option has one, else somebody else's."""

    __slots__ = ()


class ExtensionFlag(Record):
    """One option."""

    name: str
    kind: FlagKind
    default: FlagValue = None
    description: str = ""


def checked_flag(flag: ExtensionFlag) -> ExtensionFlag:
    """``flag``, if its default is of its own kind; ``ExtensionError`` otherwise."""
    wanted = {"boolean": bool, "string": str}.get(flag.kind)
    if wanted is None:
        raise ExtensionError(
            f"The flag --{flag.name} cannot be of the type {flag.kind!r}.",
            hint="Flags are boolean or string.",
        )
    if flag.default is not None and not isinstance(flag.default, wanted):
        raise ExtensionError(
            f"The default of --{flag.name} must be a {wanted.__name__}, not {flag.default!r}."
        )
    return flag


def flag_of(name: str, told: Mapping[str, Any]) -> ExtensionFlag:
    """An option, as a manifest describes it."""
    return ExtensionFlag(
        name=name,
        kind=told.get("type", "boolean"),
        default=told.get("default"),
        description=told.get("description", ""),
    )


def flag_value(flag: ExtensionFlag, given: Mapping[str, bool | str]) -> FlagValue:
    """What the command line says, or the default."""
    value = given.get(flag.name)
    if value is None:
        return flag.default
    if flag.kind == "boolean":
        if isinstance(value, Following):
            return True
        return value if isinstance(value, bool) else value.lower() not in ("false", "no", "0", "")
    return str(value) if isinstance(value, str) else None
