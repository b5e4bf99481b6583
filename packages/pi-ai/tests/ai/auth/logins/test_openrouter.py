from __future__ import annotations

import re

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.logins import openrouter
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply, Visit
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    return settings_at("openrouter", {**server.clients, "keyUrl": server.url("/keys")})


async def test_login_returns_an_api_key_that_does_not_expire(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    def keys(visit: Visit) -> Reply:
        known = server.codes[visit.fields["code"]]
        return Reply(200, {"key": "sk-or"}) if server.proves(known, visit.fields) else Reply(403)

    server.pages["/keys"] = keys
    ui = ScriptedUI(browser=obedient_browser(http))

    credential = await openrouter.login(ui, http, FakeClock(NOW), settings)

    assert credential == OAuthCredential(access="sk-or", refresh="", expires=9007199254740991)
    assert openrouter.access(credential, settings) == Access(api_key="sk-or", kind="api_key")
    asked, traded = (visit.fields for visit in server.visits)
    assert re.fullmatch(
        r"http://localhost:\d+/oauth/callback/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        asked["callback_url"],
    )
    assert traded == {
        "code": "code-1",
        "code_verifier": traded["code_verifier"],
        "code_challenge_method": "S256",
    }


@pytest.mark.parametrize(
    ("reply", "kind"), [(Reply(200, {"key": ""}), BadAnswer), (Reply(401, {"a": 1}), GrantRefused)]
)
async def test_a_login_without_an_api_key_in_the_response_raises(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    reply: Reply,
    kind: type[Exception],
) -> None:
    server.pages["/keys"] = lambda visit: reply
    ui = ScriptedUI(browser=obedient_browser(http))

    with pytest.raises(kind):
        await openrouter.login(ui, http, FakeClock(NOW), settings)


async def test_a_key_cannot_be_renewed(http: HttpClient, settings: LoginSettings) -> None:
    with pytest.raises(GrantRefused, match="cannot be renewed"):
        await openrouter.refresh(
            OAuthCredential(access="k", refresh="", expires=0), http, FakeClock(), settings
        )
