from __future__ import annotations

from base64 import urlsafe_b64encode
from urllib.parse import urlencode

import msgspec
import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.logins import chatgpt
from pi.ai.http.client import HttpClient
from pi.ai.http.request import HttpRequest
from pi.ai.request import Access
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply, Visit
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser

DEVICE = "10e42382-1b9c-4fd5-9bc2-bc53aa89564d"
REDIRECT = "http://127.0.0.1:1455/auth/callback"


class ChatGpt:
    """The page and the token endpoint of OpenAI, as the original 1.5.2 used them."""

    def __init__(self, server: AuthorizationServer) -> None:
        self.server = server
        self.client = "issued-client"
        self.nonce = ""
        """Replaces the nonce of the identity token."""
        server.pages["/authorize"] = self.authorize
        server.pages["/token"] = self.token
        self.asked: dict[str, str] = {}

    def authorize(self, visit: Visit) -> Reply:
        self.asked = visit.fields
        answer = {"code": "abc", "state": visit.fields["state"]}
        if self.client:
            answer["client_id"] = self.client
        return Reply(302, location=f"{visit.fields['redirect_uri']}?{urlencode(answer)}")

    def token(self, visit: Visit) -> Reply:
        if visit.fields["client_id"] != self.client:
            return Reply(400, {"error": "invalid_client"})
        if visit.fields["grant_type"] == "authorization_code":
            assert self.server.proves(self.asked, visit.fields)
        claims = {"nonce": self.nonce or self.asked["nonce"]}
        payload = urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
        self.server.grants += 1
        return Reply(
            200,
            {
                "access_token": f"access-{self.server.grants}",
                "refresh_token": f"refresh-{self.server.grants}",
                "expires_in": 3660,
                "id_token": f"head.{payload}.signature",
                "scope": "openid chatgpt.tokens.use.direct",
            },
        )


@pytest.fixture
def openai(server: AuthorizationServer) -> ChatGpt:
    return ChatGpt(server)


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    urls = {"authorizeUrl": server.url("/authorize"), "tokenUrl": server.url("/token")}
    return replace(settings_at("openai", {**urls, "redirectPort": 0}), device_id=DEVICE)


async def test_the_issued_client_is_stored_and_refreshes_the_tokens(
    openai: ChatGpt, server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    ui, clock = ScriptedUI(browser=obedient_browser(http)), FakeClock(NOW)

    credential = await chatgpt.login(ui, http, clock, settings)
    renewed = await chatgpt.refresh(credential, http, clock, settings)

    extra = {
        "clientId": "issued-client",
        "scopes": ["openid", "chatgpt.tokens.use.direct"],
    }
    assert [credential, renewed] == [
        OAuthCredential(
            access=f"access-{n}", refresh=f"refresh-{n}", expires=NOW + 3_600_000, extra=extra
        )
        for n in (1, 2)
    ]
    assert openai.asked["client_id"] == "dynamic_agent_client"
    assert openai.asked["ext_agent_host_id"] == f"urn:uuid:{DEVICE}"
    assert openai.asked["resource"] == "https://api.openai.com/v1"
    assert openai.asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert [visit.fields["resource"] for visit in server.visits_to("/token")] == [
        "https://api.openai.com/v1"
    ] * 2
    assert chatgpt.access(renewed, settings) == Access(api_key="access-2", kind="oauth")


async def test_the_address_can_be_pasted(
    openai: ChatGpt, http: HttpClient, settings: LoginSettings
) -> None:
    async def browse(url: str) -> str:
        page = await http.request(HttpRequest(url=url))
        return str(page.headers.get("location"))

    ui = ScriptedUI(browser=browse)
    credential = await chatgpt.login(ui, http, FakeClock(NOW), settings)
    assert credential.extra["clientId"] == "issued-client"


async def test_an_answer_without_a_client_is_refused(
    openai: ChatGpt, http: HttpClient, settings: LoginSettings
) -> None:
    openai.client = ""
    ui = ScriptedUI(browser=obedient_browser(http))
    with pytest.raises(LoginFailed, match="names no client"):
        await chatgpt.login(ui, http, FakeClock(NOW), settings)


async def test_tokens_of_another_login_are_refused(
    openai: ChatGpt, http: HttpClient, settings: LoginSettings
) -> None:
    openai.nonce = "another"
    ui = ScriptedUI(browser=obedient_browser(http))
    with pytest.raises(LoginFailed, match="another login"):
        await chatgpt.login(ui, http, FakeClock(NOW), settings)


def test_the_built_in_settings_are_those_of_openai() -> None:
    settings = settings_at("openai", {})
    assert settings.client_id == "dynamic_agent_client"
    assert settings.token_url == "https://auth.openai.com/api/accounts/oauth/token"
    host, port, path = settings.redirect_host, settings.redirect_port, settings.redirect_path
    assert f"http://{host}:{port}{path}" == REDIRECT
