from __future__ import annotations

import pytest

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import GrantRefused, LoginFailed
from pi.ai.auth.login_settings import LoginSettings, login_settings
from pi.ai.auth.logins import github_copilot
from pi.ai.errors import BadAnswer, ProviderUnavailable
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply
from tests.ai.auth.logins.signing_in import NOW, PROVIDERS, settings_at
from tests.ai.auth.oauth.passing_time import in_time
from tests.ai.auth.scripted_ui import ScriptedUI

END = NOW // 1000 + 1800
GITHUB = OAuthCredential(access="", refresh="gho", expires=0)


@pytest.fixture
def settings(server: AuthorizationServer) -> LoginSettings:
    changes = {**server.clients, "keyUrl": server.url("/copilot"), "baseUrl": server.url("/api")}
    return settings_at("github-copilot", changes)


async def test_login_returns_a_copilot_token_and_the_models_of_the_plan(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.troubles.append(
        Reply(200, {"error": "authorization_pending"})
    )  # GitHub sends status 200 with it
    server.pages["/copilot"] = lambda visit: Reply(200, {"token": "tid=1", "expires_at": END})
    models = [
        {"id": "gpt"},
        {"id": "off", "policy": {"state": "disabled"}},
        {"id": "on", "policy": {"state": "enabled"}},
        {"name": "?"},
    ]
    server.pages["/api/models"] = lambda visit: Reply(200, {"data": models})
    clock = FakeClock(NOW)

    credential = await in_time(clock, github_copilot.login(ScriptedUI(""), http, clock, settings))

    assert credential == OAuthCredential(
        access="tid=1",
        refresh="access-1",
        expires=END * 1000 - 300_000,
        extra={"availableModelIds": ["gpt", "on"]},
    )
    token, listed = server.visits_to("/copilot")[0], server.visits_to("/api/models")[0]
    assert token.headers["authorization"] == "Bearer access-1"
    assert listed.headers["authorization"] == "Bearer tid=1"
    assert listed.headers["user-agent"] == "GitHubCopilotChat/0.35.0"
    assert listed.headers["editor-version"] == "vscode/1.107.0"


@pytest.mark.parametrize("reply", [Reply(500), Reply(200, {"data": "?"}), None])
async def test_a_login_succeeds_even_if_the_model_list_cannot_be_fetched(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings, reply: Reply | None
) -> None:
    server.pages["/copilot"] = lambda visit: Reply(200, {"token": "t", "expires_at": END})
    if reply is None:
        settings = replace(settings, base_url="http://127.0.0.1:1")
    else:
        server.pages["/api/models"] = lambda visit: reply
    clock = FakeClock(NOW)

    credential = await in_time(clock, github_copilot.login(ScriptedUI(""), http, clock, settings))

    assert (credential.access, credential.extra) == ("t", {})


async def test_a_refresh_keeps_the_github_login_and_the_extras(
    server: AuthorizationServer, http: HttpClient, settings: LoginSettings
) -> None:
    server.pages["/copilot"] = lambda visit: Reply(200, {"token": "new", "expires_at": END})
    old = OAuthCredential(access="o", refresh="gho", expires=0, extra={"availableModelIds": ["a"]})

    new = await github_copilot.refresh(old, http, FakeClock(NOW), settings)

    assert new == OAuthCredential(
        access="new", refresh="gho", expires=END * 1000 - 300_000, extra=old.extra
    )


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(401, {"message": "Bad credentials"}), GrantRefused),
        (Reply(403, {"message": "Forbidden"}), ProviderUnavailable),
        (Reply(200, {"token": "t"}), BadAnswer),
    ],
)
async def test_a_failed_refresh_raises_an_error_for_the_kind_of_failure(
    server: AuthorizationServer,
    http: HttpClient,
    settings: LoginSettings,
    reply: Reply,
    kind: type[Exception],
) -> None:
    server.pages["/copilot"] = lambda visit: reply

    with pytest.raises(kind):
        await github_copilot.refresh(GITHUB, http, FakeClock(NOW), settings)


@pytest.mark.parametrize(
    ("token", "extra", "url"),
    [
        ("tid=1;proxy-ep=proxy.business.githubcopilot.com;x=1", {}, "https://api.business.githubcopilot.com"),
        ("proxy-ep=proxy.individual.githubcopilot.com", {}, "https://api.individual.githubcopilot.com"),
        ("tid=1", {"enterpriseUrl": "my.ghe.com"}, "https://copilot-api.my.ghe.com"),
        ("tid=1;proxy-ep=evil.com/x@", {}, "https://api.individual.githubcopilot.com"),
        ("tid=1", {}, "https://api.individual.githubcopilot.com"),
    ],
)  # fmt: skip
def test_the_base_url_comes_from_the_token_or_the_enterprise_domain(
    token: str, extra: dict[str, str], url: str
) -> None:
    settings = login_settings(PROVIDERS["github-copilot"], {})
    credential = OAuthCredential(access=token, refresh="gho", expires=0, extra=extra)

    assert github_copilot.access(credential, settings) == Access(
        api_key=token, base_url=url, kind="oauth"
    )


def test_an_enterprise_login_uses_the_urls_of_the_enterprise_domain() -> None:
    settings = login_settings(PROVIDERS["github-copilot"], {})
    at_home = github_copilot.at_domain("my.ghe.com", settings)

    assert (at_home.device_url, at_home.token_url, at_home.key_url) == (
        "https://my.ghe.com/login/device/code",
        "https://my.ghe.com/login/oauth/access_token",
        "https://api.my.ghe.com/copilot_internal/v2/token",
    )
    assert github_copilot.at_domain(None, settings) is settings


@pytest.mark.parametrize(
    ("typed", "domain"),
    [
        ("", None),
        (" github.com ", None),
        ("https://github.com/", None),
        ("My.GHE.com", "my.ghe.com"),
        ("https://my.ghe.com/login?x", "my.ghe.com"),
        ("git.local:8443", "git.local:8443"),
    ],
)
def test_an_enterprise_domain_is_normalised(typed: str, domain: str | None) -> None:
    assert github_copilot.enterprise_domain(typed) == domain


@pytest.mark.parametrize("typed", ["my company", "a@b.com", "-x.com", "ü"])
def test_an_invalid_enterprise_domain_is_rejected(typed: str) -> None:
    with pytest.raises(LoginFailed, match="is not a domain"):
        github_copilot.enterprise_domain(typed)
