"""Logging in and out of a running session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import LoginPrompt, Notice
from pi.ai.auth.storage import AuthStorage
from pi.base.errors import PiError
from tests.coding.runtime.stage import Stage


class Person:
    """Gives the same answer to every question."""

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.reported: list[Notice] = []

    async def ask(self, prompt: LoginPrompt) -> str:
        return self._answer

    def notify(self, notice: Notice) -> None:
        self.reported.append(notice)


async def test_a_key_is_there_for_the_next_request_and_gone_after_a_logout(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()

    async def state() -> tuple[bool, bool, bool]:
        [found] = [a for a in await session.accounts.all() if a.provider.id == "deepseek"]
        return found.usable, found.has_key, found.is_stored

    assert await state() == (False, False, False)
    await session.accounts.store_key("deepseek", Person("sk-test"))
    assert await state() == (True, True, True)
    assert "deepseek" in {model.provider for model in session.models.registry.get_available()}
    assert await session.accounts.storage.remove("deepseek")
    assert not await session.accounts.storage.remove("deepseek")
    assert await state() == (False, False, False)
    await session.close()


@pytest.mark.behaviour("login-in-another-terminal-is-seen")
async def test_a_login_of_another_process_is_used(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    other = AuthStorage(stage.agent_dir / "auth.json")
    tokens = OAuthCredential(access="a", refresh="r", expires=stage.clock.now_ms() + 1000)
    await other.set("anthropic", tokens)
    [found] = [a for a in await session.accounts.all() if a.provider.id == "anthropic"]
    assert (found.usable, found.logged_in, found.has_key) == (True, True, False)
    await session.close()


async def test_an_unknown_provider_is_named_with_a_guess(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    with pytest.raises(PiError) as problem:
        await session.accounts.log_in("antropic", Person(""))
    assert problem.value.explain() == 'Unknown provider "antropic". Did you mean anthropic?'
    await session.close()
