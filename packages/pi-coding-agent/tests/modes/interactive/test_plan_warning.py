from __future__ import annotations

import json
from pathlib import Path

from pi.modes.interactive.welcome import WARNING, warn_about_extra_billing
from tests.modes.interactive.commands.command_fixture import CommandFixture, command_fixture

LOGIN = {"type": "oauth", "access": "a", "refresh": "r", "expires": 4_000_000_000_000}
KEY = {"type": "api_key", "key": "k"}


async def with_credentials(on: CommandFixture, credential: object) -> None:
    """Have the user's Anthropic credentials be these, and an Anthropic model answer."""
    stored = json.dumps({"anthropic": credential})
    on.fixture.write(".pi/agent/auth.json", stored).chmod(0o600)
    await on.session.set_model("anthropic/claude-sonnet-4-5")


async def test_a_user_of_a_plan_is_warned_unless_the_warning_is_disabled(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await with_credentials(on, LOGIN)
        await warn_about_extra_billing(on.screen)
        assert on.screen.notices == [("warning", WARNING)]
        on.session.settings.set({"warnings.anthropicExtraUsage": False})
        await warn_about_extra_billing(on.screen)
        assert len(on.screen.notices) == 1


async def test_an_api_key_or_another_provider_gets_no_warning(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await warn_about_extra_billing(on.screen)
        await with_credentials(on, KEY)
        await warn_about_extra_billing(on.screen)
        assert on.screen.notices == []
