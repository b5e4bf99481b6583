"""All layers of a session's settings together."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.settings.files import BadSettings, SettingsFile
from pi.coding.settings.settings import Settings
from pi.testing import FakeClock
from tests.files import put


class Retry(Record):
    max_retries: int = 3


@pytest.fixture
def agent_dir(tmp_path: Path) -> Path:
    put(tmp_path / "agent" / "settings.json", '{"theme": "dark", "retry": {"maxRetries": 5}}')
    put(
        tmp_path / "project" / ".pi" / "settings.json",
        '{"theme": "light", "httpProxy": "http://evil", "skills": ["s"]}',
    )
    return tmp_path / "agent"


def of(agent_dir: Path, *, trusted: bool) -> Settings:
    return Settings.of(agent_dir, agent_dir.parent / "project", trusted=trusted)


def test_an_untrusted_project_has_no_effect(agent_dir: Path) -> None:
    settings = of(agent_dir, trusted=False)

    assert (settings.values.theme, settings.values.skills) == ("dark", ())


def test_a_trusted_project_overrides_the_user_except_for_global_settings(agent_dir: Path) -> None:
    settings = of(agent_dir, trusted=True)

    assert (settings.values.theme, settings.values.skills) == ("light", ("s",))
    assert settings.values.http_proxy is None
    assert settings.section(("retry",), Retry) == Retry(max_retries=5)


def test_overrides_beat_the_files_and_are_never_written(agent_dir: Path) -> None:
    settings = of(agent_dir, trusted=True)
    settings.override({"theme": "mine", "retry.maxRetries": 0})

    assert settings.values.theme == "mine"
    assert settings.section(("retry",), Retry) == Retry(max_retries=0)
    assert '"dark"' in (agent_dir / "settings.json").read_text()


def test_a_set_value_applies_at_once_and_is_written_to_the_file_of_the_user(
    agent_dir: Path,
) -> None:
    settings = of(agent_dir, trusted=False)
    changes: list[bool] = []
    settings.on_change(lambda: changes.append(True))
    settings.set({"steeringMode": "all", "retry.maxRetries": 1, "theme": None})

    again = of(agent_dir, trusted=False)
    for current in (settings, again):
        assert (current.values.steering_mode, current.values.theme) == ("all", None)
        assert current.section(("retry",), Retry) == Retry(max_retries=1)
    assert changes


@pytest.mark.behaviour("broken-settings-are-left-alone")
def test_a_file_that_becomes_invalid_changes_nothing_and_is_never_overwritten(
    agent_dir: Path,
) -> None:
    put(agent_dir / "settings.json", '{"outputPad": 0}')
    settings = of(agent_dir, trusted=False)
    put(agent_dir / "settings.json", "{broken")

    with pytest.raises(BadSettings, match="Invalid settings file"):
        settings.load()
    assert settings.values.output_pad == 0
    with pytest.raises(PiError):
        settings.set({"theme": "dark"})
    assert settings.values.theme == "dark"
    assert (agent_dir / "settings.json").read_text() == "{broken"


@pytest.mark.behaviour("project-settings-merge")
def test_an_invalid_value_is_reported_once(agent_dir: Path) -> None:
    put(agent_dir / "settings.json", '{"theme": 7, "outputPad": 5}')
    settings = of(agent_dir, trusted=False)
    for _ in range(2):
        assert (settings.values.theme, settings.values.output_pad) == (None, 1)

    assert len(settings.warnings) == 2


def test_dotted_names_in_memory_are_paths() -> None:
    settings = Settings.in_memory(
        {
            "compaction.enabled": False,
            "compaction": {"reserveTokens": 5},
            "retry": {"maxRetries": 1, "enabled": True},
            "retry.enabled": False,
        }
    )

    assert settings.raw == {
        "compaction": {"enabled": False, "reserveTokens": 5},
        "retry": {"maxRetries": 1, "enabled": False},
    }


def test_without_a_file_the_lists_of_the_user_are_those_in_memory() -> None:
    settings = Settings.in_memory({"skills": ["here"]})
    settings.load()

    assert settings.layer("user", ("skills",)) == ["here"]
    assert settings.layer("project", ("skills",)) is None


def test_settings_in_memory_need_no_file() -> None:
    settings = Settings.in_memory({"queueMode": "all"})
    settings.set({"theme": "dark"})

    assert (settings.values.steering_mode, settings.values.theme) == ("all", "dark")


def test_a_project_file_is_written_only_when_it_is_trusted(agent_dir: Path) -> None:
    settings = of(agent_dir, trusted=False)
    with pytest.raises(PiError, match="not trusted"):
        settings.set_for_project({"theme": "x"})
    path = agent_dir.parent / "project" / ".pi" / "settings.json"
    settings.trust_project(SettingsFile(path, clock=FakeClock()))
    settings.set_for_project({"theme": "x"})

    assert settings.values.theme == "x"
    assert settings.layer("project", ("theme",)) == "x"
    assert settings.layer("user", ("theme",)) == "dark"


def test_files_are_read_again_when_asked(agent_dir: Path) -> None:
    settings = of(agent_dir, trusted=False)
    put(agent_dir / "settings.json", '{"theme": "other", "x": {"y": 1}}')
    settings.load()

    assert (settings.values.theme, settings.raw["x"]) == ("other", {"y": 1})


@pytest.mark.behaviour("project-settings-merge")
def test_a_warning_is_reported_once_also_when_it_comes_late(agent_dir: Path) -> None:
    put(agent_dir / "settings.json", '{"outputPad": 5, "retry": {"maxRetries": "many"}}')
    settings, reported = of(agent_dir, trusted=True), list[str]()
    settings.values  # noqa: B018 - reading it finds what does not fit
    settings.on_warning(reported.append)
    early = list(reported)
    for _ in range(2):
        settings.section(("retry",), Retry)
        settings.override({"quietStartup": True})

    assert early == ['Ignored setting "outputPad": expected 0 or 1, got 5']
    assert reported[1:] == ['Ignored setting "retry.maxRetries": expected `int`, got "many"']
