"""What is known of a setting: its name, its values, and what it is for."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record, replace

Kind: TypeAlias = Literal["choice", "number", "text", "list", "json"]
"""``list`` is words in a JSON array, ``json`` any other array or object."""

Value: TypeAlias = str | int | bool | None


class Setting(Record):
    """One row; ``default`` is what holds when nobody says anything."""

    name: str
    """Its place in ``settings.json``, with dots."""
    label: str
    description: str
    kind: Kind
    group: str = ""
    default: Value = None
    choices: tuple[Value, ...] = ()
    least: int = 0
    most: int | None = None


def group(name: str, *settings: Setting) -> tuple[Setting, ...]:
    """Settings that belong together."""
    return tuple(replace(setting, group=name) for setting in settings)


def switch(name: str, label: str, description: str, *, on: bool) -> Setting:
    """On or off."""
    made = _of("choice", name, label, description)
    return replace(made, default=on, choices=(True, False))


def choice(name: str, label: str, description: str, choices: tuple[Value, ...]) -> Setting:
    """One of several values; the first is the default."""
    made = _of("choice", name, label, description)
    return replace(made, default=choices[0], choices=choices)


def number(
    name: str,
    label: str,
    description: str,
    default: int | None,
    *,
    least: int = 0,
    most: int | None = None,
) -> Setting:
    """A whole number."""
    made = _of("number", name, label, description)
    return replace(made, default=default, least=least, most=most)


def text(name: str, label: str, description: str) -> Setting:
    """Words, or nothing."""
    return _of("text", name, label, description)


def words(name: str, label: str, description: str) -> Setting:
    """A list of words."""
    return _of("list", name, label, description)


def json(name: str, label: str, description: str) -> Setting:
    """Any other array or object."""
    return _of("json", name, label, description)


def _of(kind: Kind, name: str, label: str, description: str) -> Setting:
    return Setting(name=name, label=label, description=description, kind=kind)
