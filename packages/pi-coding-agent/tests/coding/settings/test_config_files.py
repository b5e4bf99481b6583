"""``config.yml`` and overlays: read-only layers of settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.clock import SystemClock
from pi.coding.settings.files import BadSettings, ConfigFile, SettingsFile
from pi.coding.settings.settings import Settings
from tests.files import put


def settings_in(folder: Path, *overlays: Path) -> Settings:
    file = SettingsFile(folder / "agent/settings.json", clock=SystemClock())
    made = Settings(file, overlays=[ConfigFile(path, must_exist=True) for path in overlays])
    made.load()
    return made


def test_settings_override_the_config_of_the_same_scope(tmp_path: Path) -> None:
    put(tmp_path / "agent/config.yml", "theme: dark\nretry:\n  maxRetries: 7\n  enabled: false\n")
    put(tmp_path / "agent/settings.json", '{"theme": "light", "retry": {"enabled": true}}')

    read = settings_in(tmp_path).raw

    assert read == {"theme": "light", "retry": {"maxRetries": 7, "enabled": True}}


def test_layers_are_user_project_overlays_and_overrides(tmp_path: Path) -> None:
    for name in ("agent/config.yml", "agent/settings.json", "p/config.yml", "p/settings.json"):
        put(tmp_path / name, json.dumps({"theme": name, name.replace(".", "-"): True}))
    overlays = [put(tmp_path / name, f"theme: {name}\n") for name in ("one.yml", "two.json5.yaml")]
    settings = settings_in(tmp_path, *overlays)
    settings.trust_project(SettingsFile(tmp_path / "p/settings.json", clock=SystemClock()))

    assert settings.raw["theme"] == "two.json5.yaml"
    assert len(settings.raw) == 5
    settings.override({"theme": "mine"})
    assert settings.raw["theme"] == "mine"


def test_settings_are_written_to_the_json_file_only(tmp_path: Path) -> None:
    config = put(tmp_path / "agent/config.yml", "# mine\ntheme: dark\n")
    settings = settings_in(tmp_path)

    settings.set({"theme": "light"})

    assert settings.values.theme == "light"
    assert config.read_text() == "# mine\ntheme: dark\n"
    assert json.loads((tmp_path / "agent/settings.json").read_text()) == {"theme": "light"}
    settings.set({"theme": None})
    assert settings.values.theme == "dark"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1,\nc: 2", 3),
        ("theme: dark\n  x: 1\n", 2),
        ("- a list\n", 1),
        ("a: 1\n\nb: \udcff", 3),
    ],
)
def test_a_wrong_file_is_an_error_with_path_and_position(
    tmp_path: Path, text: str, line: int
) -> None:
    path = tmp_path / "agent/config.yml"
    path.parent.mkdir()
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    put(tmp_path / "agent/settings.json", '{"theme": "light"}')

    with pytest.raises(BadSettings) as caught:
        settings_in(tmp_path)

    assert caught.value.message.startswith(f"Invalid settings file {path}: line {line}, column ")


def test_a_settings_file_is_invalid_at_a_line_and_a_column(tmp_path: Path) -> None:
    path = put(tmp_path / "agent/settings.json", '{\n"a": 1, // ä\n x}')

    with pytest.raises(BadSettings) as caught:
        settings_in(tmp_path)

    assert caught.value.message.startswith(f"Invalid settings file {path}: line 3, column 2: ")


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"none\.yml: the file does not exist"):
        settings_in(tmp_path, tmp_path / "none.yml")


def test_without_project_includes_overlays_but_not_the_project(
    tmp_path: Path,
) -> None:
    overlay = put(tmp_path / "o.yml", "compaction: {remoteEndpoint: http://mine.example}\n")
    project = put(tmp_path / "p/settings.json", '{"compaction": {"strategy": "shake"}}')
    settings = settings_in(tmp_path, overlay)
    settings.trust_project(SettingsFile(project, clock=SystemClock()))

    assert settings.without_project(("compaction", "remoteEndpoint")) == "http://mine.example"
    assert settings.without_project(("compaction", "strategy")) is None


def test_json_overlays_may_have_comments(tmp_path: Path) -> None:
    overlay = put(tmp_path / "o.jsonc", '{"theme": "dark", // mine\n}')

    assert settings_in(tmp_path, overlay).values.theme == "dark"


def test_values_of_the_user_alone_leave_the_project_out(tmp_path: Path) -> None:
    put(tmp_path / "p/settings.json", '{"sources": {"claude": true}}')
    settings = settings_in(tmp_path)
    settings.trust_project(SettingsFile(tmp_path / "p/settings.json", clock=SystemClock()))

    assert settings.raw["sources"] == {"claude": True}
    assert settings.without_project(("sources", "claude")) is None


def test_lists_of_skills_in_the_older_object_keep_their_meaning(tmp_path: Path) -> None:
    put(tmp_path / "agent/config.yml", "skills:\n  ignoredSkills: [a]\n  includeSkills: [b]\n")

    raw = settings_in(tmp_path).raw

    assert (raw["ignoredSkills"], raw["includeSkills"], raw["skills"]) == (["a"], ["b"], [])
