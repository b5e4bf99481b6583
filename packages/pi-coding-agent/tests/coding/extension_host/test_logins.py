from __future__ import annotations

from typing import Any

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginCancelled
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginProgress, LoginPrompt
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.errors import AuthenticationFailed, ProviderUnavailable
from pi.ai.request import Access
from pi.coding.extension_host.contributions.credentials import (
    ExtensionLogin,
    LoginCallbacks,
    OAuthConfig,
    oauth_from,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.testing import FakeClock
from tests.ai.auth.scripted_ui import ScriptedUI

TOKENS = {"type": "oauth", "access": "a", "refresh": "r", "expires": 5, "team": "blue"}
CREDENTIAL = OAuthCredential(access="a", refresh="r", expires=5, extra={"team": "blue"})
HTTP: Any = None


async def give(_: Any) -> dict[str, Any]:
    return TOKENS


def config(**changes: Any) -> OAuthConfig:
    return OAuthConfig(**{"name": "Acme", "login": give, "refresh_token": give, **changes})


async def test_login_callbacks_show_notices_and_prompts() -> None:
    ui = ScriptedUI("Ada", "secret", "code")

    async def login(callbacks: LoginCallbacks) -> dict[str, Any]:
        callbacks.on_auth("https://acme.example", "agree there")
        callbacks.on_device_code("AB-CD", "https://acme.example/device", expires_in=60)
        callbacks.on_progress("waiting")
        name = await callbacks.on_prompt("Name?", placeholder="you")
        key = await callbacks.on_prompt("Key?", secret=True)
        return {**TOKENS, "who": (name, key, await callbacks.on_manual_code_input("Code?"))}

    made = await ExtensionLogin(config(login=login)).login(ui, HTTP, FakeClock(), LoginSettings())

    assert made.extra["who"] == ("Ada", "secret", "code")
    assert ui.notices == [
        AuthUrl(url="https://acme.example", instructions="agree there"),
        DeviceCode(user_code="AB-CD", url="https://acme.example/device", expires_in=60),
        LoginProgress(message="waiting"),
    ]
    assert ui.prompts == [
        LoginPrompt(kind="text", message="Name?", placeholder="you"),
        LoginPrompt(kind="secret", message="Key?"),
        LoginPrompt(kind="manual_code", message="Code?"),
    ]


async def test_extra_fields_of_tokens_are_kept() -> None:
    login = ExtensionLogin(config())

    assert await login.login(ScriptedUI(), HTTP, FakeClock(), LoginSettings()) == CREDENTIAL
    assert await login.refresh(CREDENTIAL, HTTP, FakeClock(), LoginSettings()) == CREDENTIAL
    assert login.access(CREDENTIAL, LoginSettings()) == Access(api_key="a", kind="oauth")


async def test_the_api_key_of_requests_can_be_derived() -> None:
    login = ExtensionLogin(config(get_api_key=lambda credential: credential.extra["team"]))

    assert login.access(CREDENTIAL, LoginSettings()).api_key == "blue"


async def test_a_failed_login_raises_an_extension_error_and_a_cancellation_propagates() -> None:
    async def fail(_: Any) -> dict[str, Any]:
        raise ValueError("no such team")

    async def give_up(_: Any) -> dict[str, Any]:
        raise LoginCancelled("Enough.")

    async def half(_: Any) -> dict[str, Any]:
        return {"access": "a"}

    for act, error in ((fail, "no such team"), (half, "lacks 'refresh'")):
        with pytest.raises(ExtensionError, match=error):
            await ExtensionLogin(config(login=act)).login(
                ScriptedUI(), HTTP, FakeClock(), LoginSettings()
            )
    with pytest.raises(LoginCancelled):
        await ExtensionLogin(config(login=give_up)).login(
            ScriptedUI(), HTTP, FakeClock(), LoginSettings()
        )


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (ValueError("later"), ProviderUnavailable),
        (AuthenticationFailed("gone"), AuthenticationFailed),
    ],
)
async def test_only_a_rejected_refresh_requires_a_new_login(
    raised: Exception, seen: type[Exception]
) -> None:
    async def refresh(_: Any) -> dict[str, Any]:
        raise raised

    with pytest.raises(seen, match=str(raised)):
        await ExtensionLogin(config(refresh_token=refresh)).refresh(
            CREDENTIAL, HTTP, FakeClock(), LoginSettings()
        )


def test_a_login_may_be_a_dict_of_its_fields() -> None:
    fields = {"name": "Acme", "login": give, "refresh_token": give, "is_subscription": True}

    assert ExtensionLogin(oauth_from(fields, "acme")).settings.subscription
    with pytest.raises(ExtensionError, match="The login of acme is invalid"):
        oauth_from({"name": "Acme"}, "acme")
