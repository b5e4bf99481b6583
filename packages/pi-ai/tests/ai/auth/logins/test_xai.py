from __future__ import annotations

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.logins import xai
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI


async def test_login_refresh_and_access(server: AuthorizationServer, http: HttpClient) -> None:
    settings = settings_at("xai", server.clients)
    clock = FakeClock(NOW)

    credential = await in_time(clock, xai.login(ScriptedUI(), http, clock, settings))
    renewed = await xai.refresh(credential, http, clock, settings)

    expires = clock.now_ms() + 3_600_000 - 300_000
    assert [credential, renewed] == [
        OAuthCredential(access="access-1", refresh="refresh-1", expires=expires),
        OAuthCredential(access="access-2", refresh="refresh-2", expires=expires),
    ]
    assert xai.access(renewed, settings) == Access(api_key="access-2", kind="oauth")
    assert server.visits[0].fields == {
        "client_id": "client",
        "scope": "openid profile email offline_access grok-cli:access api:access",
        "referrer": "pi",
    }
