"""The table of settings is what the program reads: same names, same defaults, same types."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import fields

from pi.base.records import Record
from pi.batteries.status_engine.config import SETTING, Provider, declare
from pi.batteries.status_engine.items import CATALOGUE
from pi.batteries.web_search.providers import PROVIDERS
from pi.cli.settings_check import SECTIONS, TOOLS
from pi.coding.compaction.options import BUILT_IN_STRATEGIES
from pi.coding.runtime.session.compaction import Strategies
from pi.coding.settings.guards import GUARDS
from pi.coding.settings.guards import SECTIONS as GUARDED
from pi.coding.settings.setting import (
    FOR_THE_FIRST_FRAME,
    Setting,
    choice,
    group,
    needing,
    number,
    switch,
)
from pi.coding.settings.table import SETTINGS, WITHOUT_EFFECT, WRITTEN_BY_PI
from pi.coding.settings.values import GLOBAL_ONLY
from pi.coding.tools.registry import built_in_tools
from pi.modes.interactive.early_settings import EarlySettings
from scripts.workspace import ROOT, below_pi, source_files
from tests.coding.tools.places import make_place

ROWS = {setting.name: setting for setting in SETTINGS}
BATTERIES = tuple(
    row
    for path in source_files(ROOT, "batteries/**/*.py")
    if "\nSETTINGS: " in path.read_text("utf-8")
    and path.parent.name not in ("jobs", "shell_session")  # records of core have their defaults
    for row in import_module(".".join(("pi", *below_pi(path).with_suffix("").parts))).SETTINGS
)
"""Settings that bundled extensions declare: name, type, default, help."""
SOURCES = list(source_files(ROOT))


class Declared:
    """Records the settings that the status lines declare."""

    def __init__(self) -> None:
        self.defaults: dict[str, Any] = {}

    def declare(self, key: str, kind: type[Any], default: Any, help: str = "") -> None:
        self.defaults[key] = default

    def get(self, key: str) -> Any:
        return self.defaults[key]


def read_by_the_program() -> dict[str, Any]:
    """Every name that the program reads, with its default."""
    defaults: dict[str, Any] = {}
    for path, kind in SECTIONS:
        defaults |= _leaves(kind(), "".join(f"{part}." for part in path))
    status = Declared()
    declare(status)
    batteries = {name: default for name, _, default, _ in BATTERIES}
    others = {SETTING: None, f"{SETTING}.enabled": True, "deviceId": None}
    return defaults | batteries | status.defaults | others


def _leaves(record: Record, below: str) -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for field in fields(type(record)):
        name, value = f"{below}{field.encode_name}", getattr(record, field.name)
        leaves |= _leaves(value, f"{name}.") if isinstance(value, Record) else {name: value}
    return leaves


def test_setting_names_are_unique() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))


def test_the_table_has_exactly_the_settings_that_the_program_reads() -> None:
    assert set(ROWS) | set(WRITTEN_BY_PI) == set(read_by_the_program())
    assert not set(WITHOUT_EFFECT) & set(read_by_the_program())


def test_every_record_that_is_read_from_the_settings_is_checked() -> None:
    """``settings.section(path, kind)`` anywhere in the program has its row in ``SECTIONS``."""
    read = set()
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".section(" in text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="section"), args=[ast.Tuple(elts=path), kind]
                ):
                    read.add((tuple(map(ast.literal_eval, path)), ast.unparse(kind)))

    # Read by the battery ``jobs``, which cannot know the records of core.
    read.add((("async",), "AsyncValues"))
    assert read == {(path, kind.__name__) for path, kind in SECTIONS}


def test_the_defaults_of_the_table_are_those_of_the_program() -> None:
    empty: tuple[object, ...] = (None, (), [], {}, "")

    def plain(value: object) -> object:
        value = msgspec.to_builtins(value)
        value = tuple(value) if isinstance(value, list) else value
        return None if value in empty else value

    holding = read_by_the_program()
    # Unset, unlike false, an mcp.json is used; without one both are off.
    assert holding.pop("mcp.enabled") is None
    assert {name: plain(ROWS[name].default) for name in holding if name in ROWS} == {
        name: plain(default) for name, default in holding.items() if name in ROWS
    }


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_row_has_the_type_that_is_read(setting: Setting) -> None:
    """A valid value of the table is valid for the record, and a wrong type is not."""
    for section, kind in SECTIONS:
        below = "".join(f"{part}." for part in section)
        if setting.name.startswith(below) and setting.name in _leaves(kind(), below):
            path = setting.name.removeprefix(below).split(".")
            break
    else:
        kinds = {name: kind for name, kind, _, _ in BATTERIES}
        assert setting.name.startswith(SETTING) or setting.name in kinds
        if setting.name in kinds:
            for value in _examples(setting):
                msgspec.convert(value, kinds[setting.name])
        return
    for value in _examples(setting):
        msgspec.convert(_nested(path, value), kind)
    if setting.kind != "json":
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(_nested(path, {"no": "such"}), kind)


def _examples(setting: Setting) -> list[Any]:
    match setting.kind:
        case "choice":
            return list(setting.choices)
        case "number":
            return [setting.least, setting.most if setting.most is not None else 10**6]
        case "text":
            return ["words"]
        case "list":
            return [[], ["one", "two"]]
        case _:
            return [setting.default or ([] if setting.name.endswith(("packages", "rules")) else {})]


def _nested(path: list[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def test_the_default_of_a_choice_is_one_of_its_choices() -> None:
    choices = [setting for setting in SETTINGS if setting.kind == "choice"]
    assert [setting.name for setting in choices if setting.default not in setting.choices] == []


def test_needed_and_global_only_settings_exist() -> None:
    assert {name for setting in SETTINGS for name in setting.needs} <= set(ROWS)
    assert {name.partition(".")[0] for name in ROWS} >= GLOBAL_ONLY


def test_the_choice_of_search_providers_is_the_automatic_chain() -> None:
    assert ROWS["providers.webSearch"].choices == ("auto", *PROVIDERS)


def test_settings_for_the_first_frame_are_those_the_session_does_not_follow() -> None:
    """The session applies the others, also those of a project, as soon as it exists."""
    followed = {
        "theme",
        "editor.mode",
        "editorPaddingX",
        "autocompleteMaxVisible",
        "defaultThinkingLevel",
    }

    assert set(_leaves(EarlySettings(), "")) - followed == FOR_THE_FIRST_FRAME


def test_the_names_known_to_doctor_equal_the_registered_ones(tmp_path: Path) -> None:
    class NoExtensions:
        def strategies(self) -> dict[str, Any]:
            return {}

    assert set(BUILT_IN_STRATEGIES) == {"off", *Strategies(NoExtensions())}  # type: ignore[arg-type]
    assert set(TOOLS) == set(built_in_tools(make_place(tmp_path)))


def test_settings_have_their_group_and_a_note_about_needed_settings() -> None:
    [first], [second] = (
        group("G", switch("a", "A", "a.", on=True)),
        needing(("a",), choice("b", "B", "b.", ("x", "y"))),
    )

    assert (first.group, first.default, first.choices) == ("G", True, (True, False))
    assert (second.default, second.notes) == ("x", ("Has no effect without a.",))


def test_numbers_have_a_range() -> None:
    made = number("n", "N", "n.", 3, least=1, most=9)
    assert (made.kind, made.default, made.least, made.most) == ("number", 3, 1, 9)


@pytest.mark.parametrize("section", GUARDED)
def test_the_defaults_of_guards_are_those_of_their_battery(section: str) -> None:
    battery = "permissions" if section == "files" else section
    declared = import_module(f"pi.batteries.{battery}.adapter").SETTINGS
    defaults = {name: default for name, _, default, _ in declared if name.startswith(f"{section}.")}
    guards = {row.name: row.default for row in GUARDS if row.name.startswith(f"{section}.")}
    assert defaults == guards


def test_known_names_of_the_status_lines_are_those_of_the_status_engine() -> None:
    rows = {setting.name: setting.choices for setting in SETTINGS}

    assert rows["tui.statusEngine.items"] == tuple(CATALOGUE)
    assert rows["tui.statusEngine.provider"] == get_args(Provider)
