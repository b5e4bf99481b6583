"""Commands about pi itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.records import replace
from tests.modes.interactive.commands.command_fixture import at_work, command_fixture


async def test_a_theme_is_used_and_remembered(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/theme light")
        assert on.session.settings.raw["theme"] == "light"
        assert on.screen.themes.current == "light"
        await on.run("/theme", *"terminal", "enter")
        assert "theme" not in on.session.settings.raw
        with pytest.raises(PiError, match="Unknown theme"):
            await on.run("/theme nowhere")


async def test_settings_are_changed(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/settings", *"steering", "enter", "escape")
        assert on.session.state.steering_mode == "all"
        stored = json.loads((on.fixture.agent_dir / "settings.json").read_text())
        assert stored == {"steeringMode": "all"}


async def test_trust_is_decided_for_the_next_time(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/trust", "enter")
        stored = json.loads((on.fixture.agent_dir / "trust.json").read_text())
        assert stored == {str(on.fixture.cwd): True}
        await on.run("/trust", "down", "enter")
        stored = json.loads((on.fixture.agent_dir / "trust.json").read_text())
        assert stored == {str(on.fixture.home): True}
        assert on.last_notice.endswith("is trusted from the next session or /reload on.")


async def test_keys_are_shown(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/hotkeys")
        assert "Ctrl+O" in on.screen.printed()


async def test_the_changelog_shows_only_released_versions(
    tmp_path: Path,
) -> None:
    async with command_fixture(tmp_path) as on:
        on.screen.host = replace(on.screen.host, docs=tmp_path)
        (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nHow it is made.\n")
        await on.run("/changelog")
        assert (on.last_notice, on.screen.printed()) == ("No version has been released yet.", "")
        (tmp_path / "CHANGELOG.md").write_text("How it is made.\n\n## 0.2\n\n- Tabs.\n")
        await on.run("/changelog")
        assert "Tabs." in on.screen.printed()
        assert "made" not in on.screen.printed()


async def test_reload_reads_settings_templates_and_keys_again(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        on.fixture.write(".pi/agent/settings.json", '{"quietStartup": true}')
        on.fixture.write(".pi/agent/prompts/greet.md", "Say hello")
        on.fixture.write(".pi/agent/keybindings.json", '{"app.tools.expand": "f5"}')
        await on.run("/reload")
        assert on.session.settings.values.quiet_startup
        assert "greet" in [command.name for command in on.session.info.commands()]
        assert on.screen.keymap.keys("app.tools.expand") == ("f5",)
        assert on.screen.refreshes >= 1


async def test_reload_loads_changed_extensions(tmp_path: Path) -> None:
    named = "def extension(pi):\n    pi.register_command('{}', lambda args, ctx: None)\n"
    async with command_fixture(tmp_path) as on:
        for name in ("first", "second"):
            on.fixture.write(".pi/agent/extensions/guest.py", named.format(name))
            await on.run("/reload")
            assert name in [command.name for command in on.session.info.commands()]


async def test_reload_is_rejected_while_the_agent_is_running(tmp_path: Path) -> None:
    async with at_work(tmp_path) as on:
        with pytest.raises(PiError, match="Not available while the agent is running"):
            await on.run("/reload")


async def test_quit_ends_the_application(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/quit")
        assert on.screen.quits == 1
