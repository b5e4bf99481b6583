"""The table of settings."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import fields

from pi.base.records import Record
from pi.coding.compaction.options import BranchSummaryOptions, CompactionOptions
from pi.coding.retry.backoff import RetrySettings
from pi.coding.settings.layers import value_at
from pi.coding.settings.values import Values
from pi.modes.interactive.dialogs.settings.rows import SETTINGS

OURS = {"lastChangelogVersion", "trackingId"}
"""Written by pi, changed by nobody."""
NO_ONE_LINE_DEFAULT = {"list", "json"}


def test_every_name_is_there_once() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))


def test_every_value_of_the_file_has_a_row() -> None:
    names = {setting.name for setting in SETTINGS}
    assert [name for name in _names(Values) if name not in names | OURS] == []


def test_defaults_are_those_that_hold() -> None:
    holding: dict[str, Any] = {
        **msgspec.to_builtins(Values()),
        "compaction": msgspec.to_builtins(CompactionOptions()),
        "branchSummary": msgspec.to_builtins(BranchSummaryOptions()),
        "retry": msgspec.to_builtins(RetrySettings()),
    }
    told = {
        setting.name: setting.default
        for setting in SETTINGS
        if setting.kind not in NO_ONE_LINE_DEFAULT and setting.default is not None
    }
    known = {name: value_at(holding, name.split(".")) for name in told}
    assert told == {name: told[name] if value is None else value for name, value in known.items()}


def test_every_choice_has_its_default_among_them() -> None:
    choices = [setting for setting in SETTINGS if setting.kind == "choice"]
    assert [each.name for each in choices if each.default not in each.choices] == []


def _names(kind: type[Record], before: str = "") -> list[str]:
    found = []
    for field in fields(kind):
        name = f"{before}{field.encode_name}"
        inner = field.type
        if isinstance(inner, type) and issubclass(inner, Record):
            found += _names(inner, f"{name}.")
        else:
            found.append(name)
    return found
