from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.settings.layers import value_at
from pi.modes.interactive.welcome import is_new_home, welcome
from tests.modes.interactive.commands.command_fixture import CommandFixture, command_fixture
from tests.modes.interactive.dialogs.test_first_run import newcomer


def updated(on: CommandFixture, docs: Path) -> None:
    """Have a user come back after an update from 0.1.0 to 0.2.0."""
    docs.mkdir()
    (docs / "CHANGELOG.md").write_text("## [0.2.0]\n\n- Tabs.\n\n## [0.1.0]\n\n- The first.\n")
    on.screen.host = replace(on.screen.host, docs=docs)
    on.session.settings.set({"lastChangelogVersion": "0.1.0"})


async def test_a_user_without_a_model_is_asked_for_one_once(tmp_path: Path) -> None:
    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(welcome(screen, "0.2.0"))
        await screen.press("escape")
        await task
        assert screen.notices == [("info", "Later: /login, or an API key in the environment.")]
        assert session.settings.values.last_changelog_version == "0.2.0"
        await welcome(screen, "0.2.0")


async def test_a_new_home_without_a_model_gets_two_dialogs(tmp_path: Path) -> None:
    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(welcome(screen, "0.2.0", is_new=True))
        await screen.until(lambda text: "Welcome to pi" in text)
        await screen.press("enter")
        await screen.until(lambda text: "How do you want to start?" in text)
        await screen.press("escape")
        await task
        assert value_at(session.settings.raw, ["permissions", "mode"]) == "auto-edit"


async def test_a_home_that_is_not_new_sees_no_setup(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await welcome(on.screen, "0.2.0")
        assert on.session.settings.values.last_changelog_version == "0.2.0"
        assert not on.screen.outputs


@pytest.mark.parametrize(
    ("file", "is_new"),
    [
        ("models.json", True),
        ("trust.json", True),
        ("pi.log", True),
        ("sessions/--work--/notes.txt", True),
        ("settings.json", False),
        ("config.yml", False),
        ("auth.json", False),
        ("oauth.json", False),
        ("sessions/--work--/a.jsonl", False),
        ("a.jsonl", False),
        ("../elsewhere/a.jsonl", False),
    ],
)
def test_a_home_is_new_without_settings_logins_and_sessions(
    tmp_path: Path, file: str, is_new: bool
) -> None:
    path = tmp_path / "agent" / file
    (tmp_path / "agent").mkdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"anthropic": {"type": "api_key", "key": "k"}}')

    assert is_new_home(tmp_path / "agent", tmp_path / "elsewhere") == is_new


def test_an_empty_file_of_logins_is_no_login(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("{}\n")

    assert is_new_home(tmp_path)


def test_a_home_without_an_agent_directory_is_new_unless_it_cannot_be_written(
    tmp_path: Path,
) -> None:
    assert is_new_home(tmp_path / "home" / ".pi" / "agent")
    assert not is_new_home(Path("/proc/self/.pi/agent"))


async def test_after_an_update_the_changes_are_reported_once(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        updated(on, tmp_path / "docs")
        await welcome(on.screen, "0.2.0")
        await welcome(on.screen, "0.2.0")
        assert on.screen.printed().count("Tabs.") == 1
        assert "The first." not in on.screen.printed()


async def test_changes_can_be_reported_in_one_line(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        updated(on, tmp_path / "docs")
        on.session.settings.set({"collapseChangelog": True})
        await welcome(on.screen, "0.2.0")
        assert on.last_notice == "Updated to 0.2.0; /changelog shows what is new."
        assert not on.screen.outputs


@pytest.mark.parametrize("seen", ["0.2.0", "0.3.0"])
async def test_a_known_version_shows_no_changes(tmp_path: Path, seen: str) -> None:
    async with command_fixture(tmp_path) as on:
        updated(on, tmp_path / "docs")
        on.session.settings.set({"lastChangelogVersion": seen})
        await welcome(on.screen, "0.2.0")
        assert not (on.screen.outputs or on.screen.notices)
