"""Command-line options of extensions: declared in a manifest or registered, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError

FlagKind: TypeAlias = Literal["boolean", "string"]
FlagValue: TypeAlias = bool | str | None


class FlagOptions(TypedDict, total=False):
    """The declaration of a command-line option of an extension."""

    type: FlagKind
    """``boolean`` by default."""
    default: FlagValue
    description: str


class FollowingWord(str):
    """The word after an option: its value if it is a string option, else a separate argument."""

    __slots__ = ()


class ExtensionFlag(Record):
    """A command-line option of an extension."""

    name: str
    kind: FlagKind
    default: FlagValue = None
    description: str = ""


def check_flag(flag: ExtensionFlag) -> ExtensionFlag:
    """Return ``flag``. Raises ``ExtensionError`` if its kind or default is invalid."""
    expected = {"boolean": bool, "string": str}.get(flag.kind)
    if expected is None:
        raise ExtensionError(
            f"The flag --{flag.name} has the unknown type {flag.kind!r}.",
            hint="Flags are boolean or string.",
        )
    if flag.default is not None and not isinstance(flag.default, expected):
        raise ExtensionError(
            f"The default of --{flag.name} must be a {expected.__name__}, not {flag.default!r}."
        )
    return flag


def checked_flag(name: str, declared: Mapping[str, Any]) -> ExtensionFlag:
    """An option of a manifest. Raises ``ExtensionError`` if its type or default is invalid."""
    return check_flag(declared_flag(name, declared))


def checked_flags(declared: Mapping[str, Mapping[str, Any]]) -> dict[str, ExtensionFlag]:
    """The options of a manifest by name. Raises ``ExtensionError`` if one is invalid."""
    return {name: checked_flag(name, flag) for name, flag in declared.items()}


def declared_flag(name: str, declared: Mapping[str, Any]) -> ExtensionFlag:
    """An option of a manifest, without validation."""
    return ExtensionFlag(
        name=name,
        kind=declared.get("type", "boolean"),
        default=declared.get("default"),
        description=declared.get("description", ""),
    )


def flag_value(flag: ExtensionFlag, command_line: Mapping[str, bool | str]) -> FlagValue:
    """The value from the command line, or the default."""
    value = command_line.get(flag.name)
    if value is None:
        return flag.default
    if flag.kind == "boolean":
        if isinstance(value, FollowingWord):
            return True
        return value if isinstance(value, bool) else value.lower() not in ("false", "no", "0", "")
    return str(value) if isinstance(value, str) else None
