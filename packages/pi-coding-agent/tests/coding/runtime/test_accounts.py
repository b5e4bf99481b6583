"""Logging in and out of a running session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.login import LoginPrompt, Notice
from pi.ai.auth.storage import AuthStorage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.wire_provider import WireProvider
from pi.base.errors import PiError
from tests.ai.loopback import site
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


class FakeUser:
    """Returns the same answer to every prompt."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.reported: list[Notice] = []
        self.on_notice: Callable[[], object] = lambda: None

    async def ask(self, prompt: LoginPrompt) -> str:
        return self._answer

    def notify(self, notice: Notice) -> None:
        self.reported.append(notice)
        self.on_notice()


async def test_a_stored_key_makes_a_provider_usable_until_it_is_removed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, "PI_OFFLINE": "1"})
    session = await fixture.open()

    async def state() -> tuple[bool, bool, bool]:
        [account] = [a for a in await session.accounts.all() if a.provider.id == "deepseek"]
        return account.usable, account.has_key, account.is_stored

    assert await state() == (False, False, False)
    await session.accounts.store_key("deepseek", FakeUser("sk-test"))
    assert await state() == (True, True, True)
    assert "deepseek" in {model.provider for model in session.models.registry.get_available()}
    assert await session.accounts.storage.remove("deepseek")
    assert not await session.accounts.storage.remove("deepseek")
    assert await state() == (False, False, False)
    await session.close()


@pytest.mark.behaviour("login-in-another-terminal-is-seen")
async def test_a_login_of_another_process_is_used(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    other = AuthStorage(fixture.agent_dir / "auth.json")
    tokens = OAuthCredential(access="a", refresh="r", expires=fixture.clock.now_ms() + 1000)
    await other.set("anthropic", tokens)
    [account] = [a for a in await session.accounts.all() if a.provider.id == "anthropic"]
    assert (account.usable, account.logged_in, account.has_key) == (True, True, False)
    await session.close()


async def test_an_unknown_provider_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(PiError) as error:
        await session.accounts.log_in("antropic", FakeUser(""))
    assert error.value.explain() == 'Unknown provider "antropic". Did you mean anthropic?'
    await session.close()


def _register(fixture: SessionFixture, url: str) -> None:
    model = Model(id="m", name="M", api="openai-completions", provider="mine", base_url=url)
    row = Provider(id="mine", name="mine", base_url=url)
    fixture.registry.models.register(WireProvider(row, lambda: (model,)))


async def test_a_key_that_the_provider_rejects_is_requested_again_before_it_is_stored(
    tmp_path: Path,
) -> None:
    pages: dict[str, Any] = {"/models": (401, {"error": "wrong key"})}
    async with site(pages) as server:
        fixture = SessionFixture(tmp_path)
        _register(fixture, server.url)
        session = await fixture.open()
        user = FakeUser("key")
        user.on_notice = lambda: pages.update({"/models": {"data": []}})
        await session.accounts.store_key("mine", user)
        keys = [headers["authorization"] for _, _, headers, _ in server.asked]
        assert keys == ["Bearer key", "Bearer key"]
        assert str(user.reported[0]).count("mine does not accept this key (HTTP 401)") == 1
        assert await session.accounts.storage.get("mine") == ApiKeyCredential(key="key")
        await session.close()


async def test_a_key_is_stored_where_the_provider_cannot_be_reached(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    _register(fixture, "http://127.0.0.1:9/v1")
    session = await fixture.open()
    await session.accounts.store_key("mine", FakeUser("key"))
    assert await session.accounts.storage.get("mine") == ApiKeyCredential(key="key")
    await session.close()
