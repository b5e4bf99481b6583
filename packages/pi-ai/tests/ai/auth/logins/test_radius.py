from __future__ import annotations

from typing import Any

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login_settings import LoginSettings, login_settings
from pi.ai.auth.logins import radius
from pi.ai.errors import ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.provider import Provider
from pi.ai.request import Access
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply
from tests.ai.auth.logins.signing_in import NOW
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    server.pages["/v1/oauth/token"] = server.pages["/token"]
    server.pages["/v1/oauth/device"] = server.pages["/device"]
    gateway = Provider(id="mine", name="Mine", login="radius", base_url=server.url("/v1"))
    return login_settings(gateway, {})


def described(server: AuthorizationServer, answer: dict[str, Any]) -> None:
    server.pages["/v1/oauth"] = lambda visit: Reply(200, answer)


async def test_browser_login_with_the_discovered_login_page_refresh_and_access(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    described(server, {"authorization_endpoint": server.url("/authorize")})
    ui, clock = ScriptedUI("browser", browser=obedient_browser(http)), FakeClock(NOW)

    credential = await radius.login(ui, http, clock, settings)
    renewed = await radius.refresh(credential, http, clock, settings)

    expires = NOW + 3_600_000 - 60_000
    assert [credential, renewed] == [
        OAuthCredential(access="access-1", refresh="refresh-1", expires=expires),
        OAuthCredential(access="access-2", refresh="refresh-2", expires=expires),
    ]
    asked = server.visits_to("/authorize")[0].fields
    assert (asked["client_id"], asked["scope"]) == ("pi-gateway", "gateway offline_access")
    assert radius.access(renewed, settings) == Access(api_key="access-2", kind="oauth")


async def test_a_configured_login_page_is_used_without_discovery(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    ui = ScriptedUI("browser", browser=obedient_browser(http))
    settings = replace(settings, authorize_url=server.url("/authorize"))

    credential = await radius.login(ui, http, FakeClock(NOW), settings)

    assert credential.access == "access-1"
    assert [visit.path for visit in server.visits] == ["/authorize", "/v1/oauth/token"]


async def test_login_with_a_code(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    clock = FakeClock(NOW)

    credential = await in_time(clock, radius.login(ScriptedUI("device"), http, clock, settings))

    assert credential.access == "access-1"
    assert [visit.path for visit in server.visits] == ["/v1/oauth/device", "/v1/oauth/token"]


@pytest.mark.parametrize("answer", [{"a": 1}, {"authorization_endpoint": "javascript:alert()"}])
async def test_a_gateway_without_a_valid_login_page_raises_an_error_with_a_hint(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings, answer: dict[str, Any]
) -> None:
    described(server, answer)

    with pytest.raises(LoginFailed, match="does not say where its login page is") as caught:
        await radius.login(ScriptedUI("browser"), http, FakeClock(), settings)

    assert "authorizeUrl" in caught.value.hint


async def test_a_gateway_that_is_down_is_reported(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.pages["/v1/oauth"] = lambda visit: Reply(503)

    with pytest.raises(ProviderUnavailable):
        await radius.login(ScriptedUI("browser"), http, FakeClock(), settings)
