from __future__ import annotations

import pytest

from pi.ai.auth.errors import GrantRefused, LoginFailed
from pi.ai.auth.login import DeviceCode, LoginProgress
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.device import Wait, device_login, grant_of, poll, prefers_device
from pi.ai.auth.oauth.tokens import Tokens
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Json, Reply, Visit
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI

PENDING = Reply(400, {"error": "authorization_pending"})
SLOW_DOWN = Reply(400, {"error": "slow_down"})
BEGUN: Json = {
    "device_code": "d",
    "user_code": "u",
    "verification_uri": "https://example.com/device",
}


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    return LoginSettings(
        client_id="client",
        scope="all of it",
        device_url=server.url("/device"),
        device_params={"referrer": "pi"},
        token_url=server.url("/token"),
    )


@pytest.mark.behaviour("device-code-polling")
async def test_polling_waits_first_and_slows_down_on_request(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    clock, ui, polled_at = FakeClock(), ScriptedUI(), []
    replies = [PENDING, SLOW_DOWN, PENDING, SLOW_DOWN, server.grant()]

    def token(visit: Visit) -> Reply:
        polled_at.append(clock.monotonic())
        return replies.pop(0)

    server.pages["/token"] = token

    tokens = await in_time(clock, device_login(ui, http, clock, settings))

    assert polled_at == [5, 10, 20, 30, 45]
    assert tokens == Tokens(access_token="access-1", refresh_token="refresh-1", expires_in=3600)
    assert ui.notices == [
        DeviceCode(user_code="ABCD-1234", url="https://example.com/device", expires_in=600),
        LoginProgress(message="Waiting until the code is confirmed…"),
    ]
    assert [visit.fields for visit in server.visits[:2]] == [
        {"client_id": "client", "scope": "all of it", "referrer": "pi"},
        {
            "client_id": "client",
            "device_code": "device-1",
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        },
    ]


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (Reply(400, {"error": "access_denied"}), LoginFailed, "refused in the browser"),
        (Reply(400, {"error": "expired_token"}), LoginFailed, "not confirmed in time"),
        (Reply(401, {"error": "invalid_client"}), LoginFailed, "invalid_client"),
        (Reply(200, {"error": "incorrect_device_code"}), LoginFailed, "incorrect_device_code"),
        (Reply(404, {"error": "unauthorized_client"}), GrantRefused, "unauthorized_client"),
    ],
)
async def test_an_error_response_while_polling_ends_the_login(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    reply: Reply,
    kind: type[Exception],
    message: str,
) -> None:
    server.troubles.append(reply)
    clock = FakeClock()

    with pytest.raises(kind, match=message):
        await in_time(clock, device_login(ScriptedUI(), http, clock, settings))


async def test_polling_continues_more_slowly_after_a_temporary_server_error(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.troubles += [Reply(503), Reply(429)]
    clock = FakeClock()

    tokens = await in_time(clock, device_login(ScriptedUI(), http, clock, settings))

    assert tokens.access_token == "access-1"
    assert clock.monotonic() == 5 + 10 + 15


async def test_a_rejected_device_code_request_raises_with_the_error_code(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.pages["/device"] = lambda visit: Reply(400, {"error": "unauthorized_client"})

    with pytest.raises(GrantRefused, match="unauthorized_client"):
        await device_login(ScriptedUI(), http, FakeClock(), settings)


async def test_polling_ends_when_the_code_expires() -> None:
    clock, polled_at = FakeClock(), []

    async def not_yet() -> str | Wait:
        polled_at.append(clock.monotonic())
        return Wait()

    with pytest.raises(LoginFailed, match="not confirmed in time"):
        await in_time(clock, poll(not_yet, clock=clock, interval=20, expires_in=50))

    assert polled_at == [20, 40, 50]


async def test_an_interval_of_zero_is_raised_to_one_second() -> None:
    clock, polled_at = FakeClock(), []

    async def not_yet() -> str | Wait:
        polled_at.append(clock.monotonic())
        return "token" if len(polled_at) == 3 else Wait()

    assert await in_time(clock, poll(not_yet, clock=clock, interval=0, expires_in=9)) == "token"
    assert polled_at == [1, 2, 3]


def test_missing_fields_get_the_default_values_of_the_standard() -> None:
    grant = grant_of(BEGUN | {"interval": None})

    assert (grant.interval, grant.expires_in, grant.verification_uri_complete) == (5, 900, None)


def test_the_verification_url_field_of_an_older_draft_is_read() -> None:
    older = {"device_code": "d", "user_code": "u", "verification_url": "https://example.com/device"}

    assert grant_of(older) == grant_of(BEGUN)


@pytest.mark.parametrize(
    "wrong",
    [{"verification_uri": "file:///etc/passwd"}, {"user_code": None}, {"interval": "soon"}],
)
def test_an_invalid_device_code_response_is_rejected(wrong: Json) -> None:
    with pytest.raises(BadAnswer, match="device code cannot be used"):
        grant_of(BEGUN | wrong)


async def test_the_user_chooses_between_browser_and_code() -> None:
    ui = ScriptedUI("device", "browser")

    assert [await prefers_device(ui), await prefers_device(ui)] == [True, False]
    assert [choice.id for choice in ui.prompts[0].choices] == ["browser", "device"]
