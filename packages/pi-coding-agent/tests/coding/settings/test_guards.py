"""Settings of guards: the list is complete, invalid values are strict, nested ones only tighten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.coding.settings.guards import GUARDS, SECTIONS, checked_guards, strictest_guards
from pi.coding.settings.layers import nested, value_at
from pi.coding.settings.settings import Settings
from pi.coding.settings.table import SETTINGS

ROWS = {row.name: row for row in GUARDS}


def test_the_list_of_guards_is_that_of_the_table() -> None:
    in_table = {row.name: row for row in SETTINGS if row.name.partition(".")[0] in SECTIONS}
    assert {*in_table, "defaultProjectTrust", "batteries"} == ROWS.keys()
    for name, row in in_table.items():
        default = () if row.default is None else row.default
        assert (set(row.choices), default) == (set(ROWS[name].choices), ROWS[name].default)


VALUES: tuple[Any, ...] = ("on", "of", 1, 0, True, False, None, [], ["x", 1], {}, "ask", 1.5)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_of_a_guard_is_valid_or_becomes_its_strictest(name: str, value: object) -> None:
    row, warnings = ROWS[name], list[str]()
    checked = checked_guards(
        nested({name: value}) if value is not None else _null(name), "f", warnings.append
    )

    result = value_at(checked, name.split("."))
    if row.accepts(value):
        assert (result, warnings) == (value, [])
    else:
        strictest = row.strictest
        assert result == (list(strictest) if isinstance(strictest, tuple) else strictest)
        assert warnings[0].startswith(f'Invalid setting "{name}" in f: expected ')


def _null(name: str) -> dict[str, Any]:
    section, _, rest = name.partition(".")
    return {section: {rest: None}} if rest else {section: None}


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("value", ["on", True, False, None, 3, []], ids=repr)
def test_a_section_that_is_no_object_makes_its_guard_strict(section: str, value: object) -> None:
    warnings: list[str] = []
    checked = checked_guards({section: value, "theme": 1}, "f", warnings.append)

    switches = [row for row in GUARDS if row.path[0] == section and row.choices]
    assert checked == {section: {row.path[1]: row.strictest for row in switches}, "theme": 1}
    assert len(warnings) == 1


def test_an_unknown_name_below_a_guard_is_reported() -> None:
    warnings: list[str] = []
    raw = {"sandbox": {"program": "x"}}
    assert checked_guards(raw, "f", warnings.append) == raw

    assert warnings[0].startswith('Unknown setting "sandbox.program" in f has no effect. Known: ')


@pytest.mark.parametrize(
    ("raw", "setting"),
    [
        ({"sandbox": {"enable": False}}, "sandbox.enabled"),
        ({"permissions": {"Mode": "ask"}}, "permissions.mode"),
        ({"permissions": {"defaultMode": "plan"}}, "permissions.mode"),
        ({"permissions": {"denny": []}}, "permissions.deny"),
        ({"Permissions": {"mode": "ask"}}, "permissions.mode"),
        ({"permissions ": {"mode": "ask"}}, "permissions.mode"),
        ({"\u200bpermissions": {"mode": "ask"}}, "permissions.mode"),
        ({"\uff50ermissions": 1}, "permissions.mode"),
        ({"permissions:\u00a0{mode": "ask"}, "permissions.mode"),
        ({"permissions.mode": "ask"}, "permissions.mode"),
        ({"SECRETS": {}}, "secrets.enabled"),
        ({"permission": {"mode": "ask"}}, "permissions.mode"),
        ({"permisions": {"mode": "ask"}}, "permissions.mode"),
        ({"perm\u0456ssions": {"mode": "ask"}}, "permissions.mode"),
        ({"permission": {"denied": ["Read(.env)"]}}, "permissions.deny"),
        ({"permissions": {"denied": ["Read(.env)"]}}, "permissions.deny"),
        ({"permissions": {"denies": ["Read(.env)"]}}, "permissions.deny"),
        ({"permissions.denied": ["Read(.env)"]}, "permissions.deny"),
        ({"permissionMode": "ask"}, "permissions.mode"),
        ({"secret": {"enabled": True}}, "secrets.enabled"),
        ({"sandboxed": True}, "sandbox.enabled"),
        ({"defaultProjectTrusts": "never"}, "defaultProjectTrust"),
        ({"DefaultProjectTrust": "ask"}, "defaultProjectTrust"),
        ({"Batteries": "recommended"}, "batteries"),
    ],
    ids=str,
)
def test_a_misspelt_guard_is_at_its_strictest(raw: dict[str, Any], setting: str) -> None:
    warnings: list[str] = []
    checked = checked_guards(raw, "f", warnings.append)

    strictest = ROWS[setting].strictest
    expected = list(strictest) if isinstance(strictest, tuple) else strictest
    assert value_at(checked, setting.split(".")) == expected
    assert [text.partition('"')[0] for text in warnings] == ["Unknown setting "]
    assert f"The strictest choice applies until you correct it: {setting} " in warnings[0]


@pytest.mark.parametrize(
    "name", ["permission", "permisions", "perm\u0456ssions", "Secret", "sandbx"]
)
def test_a_name_like_that_of_a_guard_with_other_contents_is_only_reported(name: str) -> None:
    warnings: list[str] = []
    raw = {name: {"x": "y"}, "theme": "light", "packages": []}
    assert checked_guards(raw, "f", warnings.append) == raw

    assert [text.partition(" has ")[0] for text in warnings] == [f'Unknown setting "{name}" in f']


def test_no_known_setting_is_taken_for_a_misspelt_guard() -> None:
    warnings: list[str] = []
    names = {row.name.partition(".")[0] for row in SETTINGS}
    others: dict[str, Any] = {
        name: {} for name in names if name not in SECTIONS and name not in ROWS
    }
    checked_guards({**others, "file": 1, "files.exclude": {}}, "f", warnings.append)

    assert warnings == []


LOOSE: dict[str, Any] = {
    "permissions": {"mode": "off", "allow": ["Bash", "Read"], "ask": [], "deny": []},
    "sandbox": {"enabled": False, "network": True, "writable": ["/"], "exclude": ["agent"]},
    "secrets": {"enabled": False, "shapes": False, "restoreInto": ["urls"]},
    "defaultProjectTrust": "always",
}
STRICT: dict[str, Any] = {
    "permissions": {"mode": "ask", "allow": ["Read"], "ask": ["Edit"], "deny": ["Bash"]},
    "sandbox": {"enabled": True, "network": False, "writable": [], "exclude": []},
    "secrets": {"enabled": True, "shapes": True, "restoreInto": []},
    "defaultProjectTrust": "never",
}


@pytest.mark.parametrize(
    ("outer", "inner", "result"),
    [
        ({"network": False}, {"allowHosts": ["a.example"]}, []),
        ({"network": True}, {"allowHosts": ["a.example"]}, ["a.example"]),
        ({"allowHosts": ["a.example"]}, {"network": True}, ["a.example"]),
        ({"allowHosts": ["a.example", "b.example"]}, {"allowHosts": ["b.example"]}, ["b.example"]),
        ({"allowHosts": ["a.example"]}, {"allowHosts": ["*"]}, ["a.example"]),
        ({"allowHosts": []}, {"allowHosts": ["a.example"], "network": True}, []),
    ],
)
def test_a_nested_session_reaches_no_further_hosts(
    outer: dict[str, Any], inner: dict[str, Any], result: list[str]
) -> None:
    session = Settings.in_memory({"sandbox": {"enabled": True, **outer}}).derived(nested=True)
    session.override({"sandbox": {"enabled": True, **inner}})

    assert session.raw["sandbox"].get("allowHosts") == result


def test_a_nested_session_can_tighten_guards_and_never_loosen_them() -> None:
    outer = Settings.in_memory(STRICT)
    inner = outer.derived(nested=True)
    inner.override(LOOSE)
    assert inner.raw == STRICT
    inner.override({"permissions.mode": "read-only", "permissions.deny": ["Read"]})

    assert inner.raw["permissions"]["mode"] == "read-only"
    assert inner.raw["permissions"]["deny"] == ["Read", "Bash"]
    assert outer.raw == STRICT


def test_a_nested_session_cannot_loosen_what_is_not_set() -> None:
    inner = Settings.in_memory().derived(nested=True)
    inner.override({"permissions.allow": ["Bash"], "sandbox.network": True, "theme": "light"})

    assert inner.raw["permissions"] == {"allow": []}
    assert inner.raw["sandbox"] == {"network": False}
    assert inner.values.theme == "light"


@pytest.mark.parametrize("value", ["none", None, 7, "recommended"])
def test_a_project_switches_the_recommended_batteries_on_and_not_off(
    tmp_path: Path, value: object
) -> None:
    def settings_of(user: Any) -> Settings:
        (tmp_path / "settings.json").write_text(json.dumps(user))
        (tmp_path / ".pi").mkdir(exist_ok=True)
        (tmp_path / ".pi/settings.json").write_text(json.dumps({"batteries": value}))
        return Settings.of(tmp_path, tmp_path, trusted=True)

    assert settings_of({"batteries": "recommended"}).raw["batteries"] == "recommended"
    switches_on = settings_of({}).raw.get("batteries") == "recommended"
    assert switches_on == (value != "none")  # what is invalid is the strictest


def test_a_nested_session_follows_later_changes_of_its_parent_and_stores_nothing() -> None:
    outer = Settings.in_memory()
    inner = outer.derived(nested=True)
    changes: list[object] = []
    inner.on_change(lambda: changes.append(inner.raw.get("theme")))
    inner.set({"quietStartup": True})
    outer.set({"theme": "light", "secrets.enabled": True})

    assert changes[-1] == "light"
    assert inner.raw["secrets"] == {"enabled": True}
    assert "quietStartup" not in outer.raw


def test_the_recommended_settings_of_one_session_are_not_those_of_another() -> None:
    outer = Settings.in_memory({"batteries": "recommended"})
    first, second = outer.derived(), outer.derived()
    first.recommend(lambda: {"secrets": {"enabled": True}})
    inner = first.derived(nested=True)
    inner.recommend(dict)

    assert first.raw["secrets"] == inner.raw["secrets"] == {"enabled": True}
    assert "secrets" not in outer.raw
    assert "secrets" not in second.raw


def test_the_strictest_guards_refuse_changes_and_ask_about_the_rest() -> None:
    values = strictest_guards()
    assert values["permissions"] == {"mode": "read-only", "allow": [], "ask": ["*"]}
    assert values["defaultProjectTrust"] == "never"
