from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused, LoginFailed
from pi.ai.auth.login import DeviceCode
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.logins import openai_codex
from pi.ai.auth.oauth.browser import Pkce
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply, Visit
from tests.ai.auth.logins.signing_in import NOW, settings_at
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser


def token(account: object = "acct", serial: int = 1) -> str:
    claims = {"n": serial, "https://api.openai.com/auth": {"chatgpt_account_id": account}}
    payload = urlsafe_b64encode(msgspec.json.encode(claims)).rstrip(b"=").decode()
    return f"head.{payload}.signature"


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    server.access_token = lambda serial: token("acct", serial)
    changes: dict[str, Any] = {
        **server.clients,
        "redirectPort": 0,
        "deviceTokenUrl": server.url("/device/token"),
    }
    return settings_at("openai-codex", changes)


async def test_login_in_the_browser_refresh_and_access(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    ui, clock = ScriptedUI("browser", browser=obedient_browser(http)), FakeClock(NOW)

    credential = await openai_codex.login(ui, http, clock, settings)
    renewed = await openai_codex.refresh(credential, http, clock, settings)

    account, expires = {"accountId": "acct"}, NOW + 3_600_000
    assert [credential, renewed] == [
        OAuthCredential(
            access=token("acct", n), refresh=f"refresh-{n}", expires=expires, extra=account
        )
        for n in (1, 2)
    ]
    asked = server.visits[0].fields
    assert {name: asked[name] for name in settings.authorize_params} == {
        "id_token_add_organizations": "true",
        "codex_cli_simplified_flow": "true",
        "originator": "pi",
    }
    assert openai_codex.access(renewed, settings) == Access(
        api_key=token("acct", 2), env={"accountId": "acct"}, kind="oauth"
    )


@pytest.mark.behaviour("device-code-polling")
async def test_login_with_a_code_on_another_device(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    ui, clock, polled_at = ScriptedUI("device"), FakeClock(NOW), []
    begun = {"device_auth_id": "id-1", "user_code": "ABCD", "interval": "7"}
    server.pages["/device"] = lambda visit: Reply(200, begun)
    server.codes["code-9"] = {
        "code_challenge": Pkce(verifier="v", state="").challenge,
        "code_challenge_method": "S256",
        "redirect_uri": settings.device_redirect,
    }

    def confirmed(visit: Visit) -> Reply:
        polled_at.append(clock.monotonic())
        if len(polled_at) < 3:
            return Reply(403 if len(polled_at) == 1 else 404)
        return Reply(200, {"authorization_code": "code-9", "code_verifier": "v"})

    server.pages["/device/token"] = confirmed

    credential = await in_time(clock, openai_codex.login(ui, http, clock, settings))

    assert polled_at == [7, 14, 21]
    assert credential.access == token("acct", 1)
    assert DeviceCode(user_code="ABCD", url=settings.device_page, expires_in=900) in ui.notices
    assert [visit.fields for visit in server.visits[:2]] == [
        {"client_id": "client"},
        {"device_auth_id": "id-1", "user_code": "ABCD"},
    ]


@pytest.mark.parametrize(
    ("begin", "confirm", "kind"),
    [
        (Reply(400, {"error": "invalid_client"}), Reply(500), GrantRefused),
        (Reply(200, {"user_code": "A"}), Reply(500), BadAnswer),
        (
            Reply(200, {"device_auth_id": "i", "user_code": "A"}),
            Reply(400, {"error": "expired_token"}),
            LoginFailed,
        ),
        (
            Reply(200, {"device_auth_id": "i", "user_code": "A"}),
            Reply(200, {"authorization_code": ""}),
            BadAnswer,
        ),
    ],
)
async def test_a_failed_device_code_request_ends_the_login_with_an_error(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    begin: Reply,
    confirm: Reply,
    kind: type[Exception],
) -> None:
    server.pages["/device"] = lambda visit: begin
    server.pages["/device/token"] = lambda visit: confirm
    clock = FakeClock(NOW)

    with pytest.raises(kind):
        await in_time(clock, openai_codex.login(ScriptedUI("device"), http, clock, settings))


async def test_a_token_without_an_account_fails_a_login_but_not_a_refresh(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.access_token = "opaque-{}".format
    ui, clock = ScriptedUI("browser", browser=obedient_browser(http)), FakeClock(NOW)
    old = OAuthCredential(access="", refresh="refresh-0", expires=0, extra={"accountId": "acct"})

    with pytest.raises(BadAnswer, match="names no ChatGPT account"):
        await openai_codex.login(ui, http, clock, settings)
    renewed = await openai_codex.refresh(old, http, clock, settings)

    assert (renewed.access, renewed.extra) == ("opaque-2", {"accountId": "acct"})


@pytest.mark.parametrize(
    "broken", ["", "a", "a.b.c", "a.!!!.c", "a.e30.c", "a.W10.c", token(None), token(5)]
)
def test_a_malformed_token_has_no_account_id(broken: str) -> None:
    assert openai_codex.account_id(broken) is None
