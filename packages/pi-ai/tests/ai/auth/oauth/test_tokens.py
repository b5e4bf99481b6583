from __future__ import annotations

from typing import Literal

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.tokens import (
    Tokens,
    bearer,
    credential_of,
    post_form,
    refresh_tokens,
    request_tokens,
)
from pi.ai.errors import BadAnswer, ProviderError, ProviderUnavailable, RateLimited
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Json, Reply

OLD = OAuthCredential(access="old", refresh="refresh-0", expires=0, extra={"accountId": "x"})


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    return LoginSettings(client_id="client", token_url=server.url("/token"), headers={"X-A": "b"})


@pytest.mark.parametrize("encoding", ["form", "json"])
async def test_fields_are_sent_as_form_or_json_with_the_headers_of_the_settings(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    encoding: Literal["form", "json"],
) -> None:
    fields = {"a": "1 & 2", "ü": "=%"}

    await post_form(http, settings.token_url, fields, encoding=encoding, headers=settings.headers)

    (visit,) = server.visits
    assert (visit.method, visit.fields, visit.headers["x-a"]) == ("POST", fields, "b")
    assert visit.headers["accept"] == "application/json"
    assert visit.headers["user-agent"].startswith("pi (")


async def test_a_refresh_replaces_the_tokens_and_keeps_the_extra_fields(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    clock = FakeClock(now_ms=1_000_000)

    new = await refresh_tokens(OLD, http, clock, settings)

    assert new == OAuthCredential(
        access="access-1", refresh="refresh-1", expires=4_600_000, extra={"accountId": "x"}
    )
    assert server.visits[0].fields == {
        "client_id": "client",
        "grant_type": "refresh_token",
        "refresh_token": "refresh-0",
    }


async def test_the_old_refresh_token_is_kept_if_the_response_has_none(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.troubles.append(Reply(200, {"access_token": "new", "expires_in": "60"}))

    new = await refresh_tokens(OLD, http, FakeClock(now_ms=0), settings)

    assert (new.access, new.refresh, new.expires) == ("new", "refresh-0", 60_000)


def test_the_stored_expiry_is_the_real_expiry_minus_the_margin() -> None:
    tokens = Tokens(access_token="a", refresh_token="r", expires_in=1000)

    stored = credential_of(tokens, FakeClock(now_ms=0), LoginSettings(margin=300))

    assert stored == OAuthCredential(access="a", refresh="r", expires=700_000)


def test_the_configured_request_headers_accompany_a_token() -> None:
    settings = LoginSettings(request_headers={"X-Client": "mine"})

    assert bearer(OLD, settings) == Access(
        api_key="old", headers={"X-Client": "mine"}, kind="oauth"
    )


WAF = "<html><head><title>Just a moment...</title></head></html>"


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (Reply(400, {"error": "invalid_grant"}), GrantRefused, "refused: invalid_grant"),
        (
            Reply(400, {"error": "invalid_grant", "error_description": "Token is gone"}),
            GrantRefused,
            "The server refused: invalid_grant: Token is gone",
        ),
        (Reply(401, {"error": {"code": "refresh_token_reused"}}), GrantRefused, "reused"),
        (Reply(401, {"message": "Bad credentials"}), GrantRefused, "refused: Bad credentials"),
        (Reply(200, {"error": "bad_refresh_token"}), GrantRefused, "bad_refresh_token"),
        (Reply(403, {"error": "access_denied"}), GrantRefused, "access_denied"),
        (Reply(403), ProviderUnavailable, "403"),
        (Reply(403, {"message": "no"}), ProviderUnavailable, "403"),
        (Reply(403, WAF), ProviderUnavailable, "Just a moment"),
        (Reply(401, WAF), ProviderUnavailable, "Just a moment"),
        (Reply(200, WAF), ProviderUnavailable, "Just a moment"),
        (Reply(429, {"error": "invalid_grant"}), RateLimited, "429"),
        (Reply(500, {"error": "invalid_grant"}), ProviderUnavailable, "500"),
        (Reply(503, "busy"), ProviderUnavailable, "busy"),
        (Reply(400, "[" * 100_000), ProviderUnavailable, "400"),
        (Reply(400, {"error": "temporarily_unavailable"}), ProviderUnavailable, "temporarily"),
        (Reply(200, {"access_token": ""}), BadAnswer, "cannot be used"),
        (Reply(200, {"token": "x"}), BadAnswer, "cannot be used"),
    ],
)
async def test_permanent_refusals_differ_from_temporary_errors(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    reply: Reply,
    kind: type[ProviderError],
    message: str,
) -> None:
    server.troubles.append(reply)

    with pytest.raises(kind, match=message) as caught:
        await request_tokens(http, FakeClock(), settings, {"grant_type": "refresh_token"})

    assert caught.value.retryable is (kind is not GrantRefused)


@pytest.mark.behaviour("failed-refresh-keeps-credentials")
async def test_an_unreachable_token_server_raises_provider_unavailable(http: HttpClient) -> None:
    settings = LoginSettings(token_url="http://127.0.0.1:1/token")

    with pytest.raises(ProviderUnavailable):
        await request_tokens(http, FakeClock(), settings, {})


async def test_a_request_without_fields_is_a_get(
    server: AuthorizationServer, http: HttpClient
) -> None:
    body: Json = {"a": [1]}
    server.pages["/config"] = lambda visit: Reply(200, body)

    answer = await post_form(http, server.url("/config"))

    assert (answer.ok, answer.body, server.visits[0].method) == (True, body, "GET")
