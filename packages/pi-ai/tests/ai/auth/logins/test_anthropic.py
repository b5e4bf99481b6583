from __future__ import annotations

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.logins import anthropic
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser


@pytest.mark.behaviour("callback-listener-is-strict")
async def test_login_refresh_and_access(server: AuthorizationServer, http: HttpClient) -> None:
    settings = settings_at(
        "anthropic", {**server.clients, "redirectPort": 0, "requestHeaders": {"X-App": "mine"}}
    )
    ui, clock = ScriptedUI(browser=obedient_browser(http)), FakeClock(NOW)

    credential = await anthropic.login(ui, http, clock, settings)
    renewed = await anthropic.refresh(credential, http, clock, settings)

    five_minutes_less = NOW + 3_600_000 - 300_000
    assert [credential, renewed] == [
        OAuthCredential(access="access-1", refresh="refresh-1", expires=five_minutes_less),
        OAuthCredential(access="access-2", refresh="refresh-2", expires=five_minutes_less),
    ]
    asked, traded, refreshed = (visit.fields for visit in server.visits)
    assert (asked["code"], asked["redirect_uri"].partition("//")[2].split("/")[1]) == (
        "true",
        "callback",
    )
    assert traded["state"] == asked["state"] != traded["code_verifier"]
    assert server.visits[1].headers["content-type"] == "application/json"
    assert refreshed == {
        "client_id": "client",
        "grant_type": "refresh_token",
        "refresh_token": "refresh-1",
    }
    assert anthropic.access(renewed, settings) == Access(
        api_key="access-2", headers={"X-App": "mine"}, kind="oauth"
    )
