from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi.ai.auth.login import Login, load_login
from pi.ai.auth.logins import (
    anthropic,
    github_copilot,
    kimi_coding,
    meta,
    openai_codex,
    openrouter,
    radius,
    xai,
)
from pi.ai.errors import AuthenticationFailed
from pi.ai.provider import Provider
from pi.ai.providers.rows import BUILT_IN

if TYPE_CHECKING:  # the type checker compares every module with the protocol
    LOGINS: tuple[Login, ...] = (
        anthropic,
        github_copilot,
        kimi_coding,
        meta,
        openai_codex,
        openrouter,
        radius,
        xai,
    )


@pytest.mark.parametrize("row", [row for row in BUILT_IN if row.login], ids=lambda row: row.id)
def test_the_login_of_a_provider_is_found(row: Provider) -> None:
    login = load_login(row)

    assert all(callable(part) for part in (login.login, login.refresh, login.access))


@pytest.mark.parametrize("name", [None, "unheard_of", "../storage"])
def test_loading_the_login_of_a_provider_without_one_raises(name: str | None) -> None:
    with pytest.raises(AuthenticationFailed, match="There is no login for P"):
        load_login(Provider(id="p", name="P", login=name))
