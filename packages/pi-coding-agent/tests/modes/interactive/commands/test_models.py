"""Commands about models, thinking levels and logins."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from tests.coding.runtime.session_fixture import Pair
from tests.modes.interactive.commands.command_fixture import command_fixture


async def test_a_model_is_chosen_by_pattern(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        on.fixture.registry.models.register(Pair())
        await on.run("/model plain")
        assert on.session.model is not None
        assert (on.session.model.id, on.last_notice) == ("plain", "Model: faux/plain")
        with pytest.raises(PiError, match="Model not found"):
            await on.run("/model nowhere-at-all")


async def test_a_model_without_a_key_shows_how_to_store_one(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/model anthropic/claude-opus-4-5")
        assert on.last_notice == "anthropic has no credentials yet; /login anthropic stores some."


async def test_a_model_is_chosen_from_the_list_and_made_the_default(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        on.fixture.registry.models.register(Pair())
        await on.run("/model", *"faux plain", "ctrl+s")
        assert on.session.model is not None
        assert on.session.model.id == "plain"
        values = on.session.settings.values
        assert (values.default_provider, values.default_model) == ("faux", "plain")


async def test_a_level_is_set_by_name_or_chosen(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/thinking high")
        assert on.last_notice == "Thinking: high"
        with pytest.raises(PiError, match='"deep" is not a thinking level'):
            await on.run("/thinking deep")
        await on.run("/thinking", "up", "ctrl+s")
        assert on.session.state.thinking_level == "medium"
        assert on.session.settings.values.default_thinking_level == "medium"


async def test_a_scope_is_chosen_and_saved(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        on.fixture.registry.models.register(Pair())
        await on.run("/scoped-models", *"faux/plain", "enter", "ctrl+s")
        assert [choice.model.id for choice in on.session.models.scope] == ["plain"]
        assert on.session.settings.values.enabled_models == ("faux/plain",)
        assert on.last_notice == "Cycling through 1 model, also in new sessions"
        await on.run("/scoped-models", "ctrl+a", "ctrl+s")
        assert on.session.models.scope == ()
        assert on.session.settings.values.enabled_models is None


async def test_login_stores_a_key_and_logout_removes_it(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/login deepseek", *"sk-test", "enter")
        accounts = {account.provider.id: account for account in await on.session.accounts.all()}
        assert accounts["deepseek"].has_key
        assert accounts["deepseek"].usable
        await on.run("/logout", "enter")
        assert on.last_notice == "Logged out of DeepSeek."
        with pytest.raises(PiError, match="No stored credentials"):
            await on.run("/logout")


async def test_a_model_without_a_key_leads_to_its_login(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        task = on.start("/model")
        await on.screen.press("shift+tab")
        await on.screen.type("deepseek/")
        await on.screen.press("enter")
        await on.screen.until(lambda text: "Key for DeepSeek" in text)
        await on.screen.type("sk-test")
        await on.screen.press("enter")
        await task
        assert on.session.model is not None
        assert on.session.model.provider == "deepseek"


async def test_a_cancelled_login_does_not_change_the_model(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/model", "shift+tab", *"deepseek/", "enter", "escape")
        assert on.session.model is not None
        assert on.session.model.provider == "faux"
