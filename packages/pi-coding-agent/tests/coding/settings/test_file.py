"""A settings file is changed key by key, and a broken one is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.locks import FileLocked
from pi.coding.settings.files import BadSettings, SettingsFile
from pi.testing import FakeClock
from tests.files import mode_of


def settings_file(path: Path) -> SettingsFile:
    return SettingsFile(path, clock=FakeClock())


@pytest.mark.behaviour("reading-settings-creates-nothing")
def test_reading_creates_nothing(tmp_path: Path) -> None:
    assert settings_file(tmp_path / "project" / ".pi" / "settings.json").read() == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.behaviour("saves-merge-changed-keys")
def test_a_change_touches_one_key_and_keeps_what_others_wrote(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"b": {"keep": 1.50, "x": 1}, "unknown": "ü", "a": 1}')
    settings_file(path).change({("b", "x"): 2, ("new",): True})

    assert path.read_text() == (
        '{\n  "b": {\n    "keep": 1.5,\n    "x": 2\n  },\n'
        '  "unknown": "ü",\n  "a": 1,\n  "new": true\n}'
    )
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["settings.json"]


@pytest.mark.behaviour("saves-merge-changed-keys")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_text("{}")
    link.symlink_to(real)
    settings_file(link).change({("theme",): "dark"})

    assert link.is_symlink()
    assert real.read_text() == '{\n  "theme": "dark"\n}'


DEEP = pytest.param("[" * 100_000, id="nested too deeply")


@pytest.mark.behaviour("broken-settings-are-left-alone")
@pytest.mark.parametrize("broken", ["{", "[1]", '{"a": 1,,}', "\xff", DEEP])
def test_a_broken_file_is_named_and_never_replaced(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(broken.encode("latin-1"))
    with pytest.raises(BadSettings, match="Invalid settings file"):
        settings_file(path).read()
    with pytest.raises(BadSettings, match=str(path)):
        settings_file(path).change({("theme",): "dark"})

    assert path.read_bytes() == broken.encode("latin-1")


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert settings_file(path).read() == {"a": 1}


@pytest.mark.parametrize("name", ["settings.json", "config.yml"])
@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"], ids=repr)
def test_an_empty_file_is_broken(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSettings, match="line 1, column 1: the file is empty"):
        file = settings_file(tmp_path / "settings.json")
        (file.config if name == "config.yml" else file).read()


REPEATED = {
    "section": (
        '{"permissions": {"mode": "ask"},\n "a": 1, "permissions": {}}',
        "line 2, column 10",
    ),
    "switch": ('{"secrets": {"enabled": true,\n"enabled": false}}', "line 2, column 1"),
    "in comments": (
        '{"é": 1, // x\n"sandbox": {"enabled": true, "enabled": 1,},}',
        "line 2, column 30",
    ),
    "trust": ('{"defaultProjectTrust": "never", "defaultProjectTrust": "ask"}', "column 34"),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_guard_that_is_set_twice_is_an_error(tmp_path: Path, kind: str) -> None:
    text, position = REPEATED[kind]
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(BadSettings, match=f'{position}: "[a-zA-Z]+" is set a second time'):
        settings_file(path).read()


def test_equal_names_elsewhere_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    guards = '"secrets": {"enabled": true}, "sandbox": {"enabled": false}'
    text = f'{{{guards}, "x": {{"a": 1, "a": 2}}, "x": 1}}'
    path.write_text(text)
    assert settings_file(path).read()["secrets"] == {"enabled": True}
    path.write_text('{"permissions": {"deny": ["mode", "mode"]}, "x": {"permissions": 1}} // ok')
    assert settings_file(path).read()["permissions"] == {"deny": ["mode", "mode"]}


YAML = {
    "permissions: {mode: ask}\ntheme: dark\n'permissions': {}\n": "line 3, column 1: .*second time",
    "permissions:\n  mode: read-only\n  allow: []\n  mode: off\n": "line 4, column 1: .*second",
    "sandbox: {enabled: true, enabled: false}\n": "column 24: .*second time",
    "theme: dark\n---\npermissions: {mode: ask}\n": "2 documents",
    "permissions: !!python/object:os.system {}\n": "the tag .* is not supported",
    "a: &a {mode: read-only}\npermissions:\n  <<: *a\n": "merge keys",
    "base: &b {permissions: {mode: ask}}\n<<: *b\n": "merge keys",
    "? [permissions]\n: {mode: ask}\n": "a key is no text",
}


@pytest.mark.parametrize("text", YAML)
def test_yaml_that_would_be_read_in_part_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yml").write_text(text)
    with pytest.raises(BadSettings, match=YAML[text]):
        settings_file(tmp_path / "settings.json").config.read()


def test_yaml_with_equal_names_in_different_sections_is_read(tmp_path: Path) -> None:
    text = (
        "secrets:\n  enabled: true\n# enabled: x\nsandbox:\n  enabled: true\neditor: {mode: vim}\n"
    )
    (tmp_path / "config.yml").write_text(text)
    values = settings_file(tmp_path / "settings.json").config.read()
    assert values["secrets"] == values["sandbox"] == {"enabled": True}


def test_a_link_to_a_missing_file_is_broken_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to("not-mounted/settings.json")
    with pytest.raises(BadSettings, match="link to a file that does not exist"):
        settings_file(path).read()
    with pytest.raises(PiError):
        settings_file(path).change({("a",): 1})
    assert path.is_symlink()


def test_the_mode_of_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0o640)
    settings_file(path).change({("a",): 1})

    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_locked_by_another_program_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    clock = FakeClock()
    lock = Path(f"{path}.lock")
    lock.mkdir()
    now = clock.now_ms() * 1_000_000
    os.utime(lock, ns=(now, now))
    file = SettingsFile(path, clock=clock, wait=0)

    with pytest.raises(FileLocked):
        file.change({("a",): 1})
    assert path.read_text() == "{}"


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_new_file_is_private_under_any_umask(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "settings.json"
    before = os.umask(0)
    try:
        settings_file(path).change({("theme",): "dark"})
    finally:
        os.umask(before)

    assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)


def test_a_provider_keeps_the_name_that_the_file_uses(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"defaultProvider": "azure-openai-responses", "theme": "azure"}')
    file = settings_file(path)
    assert file.read() == {"defaultProvider": "azure", "theme": "azure"}
    file.change({("enabledModels",): ["azure/a", "openai/b"], ("theme",): "azure"})

    assert json.loads(path.read_text()) == {
        "defaultProvider": "azure-openai-responses",
        "theme": "azure",
        "enabledModels": ["azure-openai-responses/a", "openai/b"],
    }
