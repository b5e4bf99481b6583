from __future__ import annotations

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.logins import meta
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Json, Reply
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI

DAY = 24 * 60 * 60 * 1000
IDENTITY = OAuthCredential(access="", refresh="identity", expires=0)


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    return settings_at("meta", {**server.clients, "keyUrl": server.url("/key")})


async def test_login_and_refresh_exchange_the_identity_token_for_a_new_api_key(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    keys = iter(("key-1", "key-2"))
    server.troubles.append(Reply(200, {"access_token": "a", "id_token": "identity"}))
    server.pages["/key"] = lambda visit: Reply(200, {"key": next(keys)})
    clock = FakeClock(NOW)

    credential = await in_time(clock, meta.login(ScriptedUI(), http, clock, settings))
    renewed = await meta.refresh(credential, http, clock, settings)

    expires = clock.now_ms() + DAY
    assert [credential, renewed] == [
        OAuthCredential(access="key-1", refresh="identity", expires=expires),
        OAuthCredential(access="key-2", refresh="identity", expires=expires),
    ]
    minted = server.visits_to("/key")[0]
    assert (minted.method, minted.headers["authorization"], minted.headers["x-api-version"]) == (
        "POST",
        "Bearer identity",
        "1.0.0",
    )
    assert meta.access(renewed, settings) == Access(api_key="key-2", kind="api_key")


@pytest.mark.parametrize(
    "body", [{"api_key": "k"}, {"key": "", "token": "k"}, {"data": {"key": "k"}}]
)
async def test_the_api_key_is_read_from_every_known_response_shape(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings, body: Json
) -> None:
    server.pages["/key"] = lambda visit: Reply(200, body)

    assert (await meta.refresh(IDENTITY, http, FakeClock(), settings)).access == "k"


@pytest.mark.parametrize(
    ("reply", "kind"), [(Reply(200, {"x": 1}), BadAnswer), (Reply(401, {"x": 1}), GrantRefused)]
)
async def test_a_refresh_without_an_api_key_in_the_response_raises(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    reply: Reply,
    kind: type[Exception],
) -> None:
    server.pages["/key"] = lambda visit: reply

    with pytest.raises(kind):
        await meta.refresh(IDENTITY, http, FakeClock(), settings)
