from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.auth.config_values import expand
from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.errors import GrantRefused, LoginCancelled
from pi.ai.auth.login import Notice
from pi.ai.auth.sign_in import sign_in, sign_in_with_key
from pi.ai.auth.storage import AuthStorage
from pi.ai.http.client import HttpClient
from pi.ai.provider import Provider
from pi.base.testing import FakeClock
from tests.ai.auth.authorization_server import AuthorizationServer, Reply
from tests.ai.auth.scripted_ui import ScriptedUI, obedient_browser

ANTHROPIC = Provider(
    id="anthropic", name="Anthropic", login="anthropic", key_variables=("ANTHROPIC_API_KEY",)
)
GATEWAY = Provider(id="gw", name="Gateway", needed_variables=("ACCOUNT", "REGION"))
UNKNOWN = (
    "Anthropic may expect headers with each request that pi does not know. If requests are "
    'refused, set requestHeaders. (In settings.json: "oauthClients": {"anthropic": …})'
)


async def log_in(
    ui: ScriptedUI,
    storage: AuthStorage,
    server: AuthorizationServer,
    http: HttpClient,
    environ: dict[str, str] | None = None,
) -> OAuthCredential:
    return await sign_in(
        ANTHROPIC,
        ui,
        storage=storage,
        environ=environ or {},
        http=http,
        clock=FakeClock(),
        clients={"anthropic": {**server.clients, "redirectPort": 0}},
    )


@pytest.mark.behaviour("saved-means-written", "subscription-before-key")
async def test_the_saved_notice_follows_the_save_and_names_the_billed_account(
    storage: AuthStorage, server: AuthorizationServer, http: HttpClient
) -> None:
    class Checking(ScriptedUI):
        def notify(self, notice: Notice) -> None:
            if "Saved" in getattr(notice, "message", ""):
                assert isinstance(storage.peek("anthropic"), OAuthCredential)
            super().notify(notice)

    ui = Checking(browser=obedient_browser(http))
    await storage.set("anthropic", ApiKeyCredential(key="pay-as-you-go"))

    credential = await log_in(ui, storage, server, http, {"ANTHROPIC_API_KEY": "k"})

    assert await storage.get("anthropic") == credential
    assert ui.shown == [
        UNKNOWN,
        f"Saved in {storage.where}. It replaces the API key that was stored. Requests are paid "
        "through the subscription you are logged in to. Not used: ANTHROPIC_API_KEY.",
    ]


@pytest.mark.behaviour("saved-means-written")
async def test_a_failed_login_saves_nothing_and_shows_no_saved_notice(
    storage: AuthStorage, server: AuthorizationServer, http: HttpClient
) -> None:
    server.troubles.append(Reply(400, {"error": "invalid_grant"}))
    ui = ScriptedUI(browser=obedient_browser(http))

    with pytest.raises(GrantRefused):
        await log_in(ui, storage, server, http)

    assert ui.shown == [UNKNOWN]
    assert await storage.list() == {}


@pytest.mark.behaviour("lock-contention-waits")
async def test_a_damaged_store_is_set_aside_before_the_login_if_the_user_agrees(
    storage: AuthStorage, auth_json: Path, server: AuthorizationServer, http: HttpClient
) -> None:
    auth_json.parent.mkdir()
    auth_json.write_text("{")

    with pytest.raises(LoginCancelled, match="is not a JSON object"):
        await log_in(ScriptedUI("stop"), storage, server, http)
    assert auth_json.read_text() == "{"
    assert server.visits == []

    ui = ScriptedUI("aside", browser=obedient_browser(http))
    credential = await log_in(ui, storage, server, http)

    (aside,) = auth_json.parent.glob("auth.json.damaged-*")
    assert ui.shown[0] == f"The old credentials are now in {aside}."
    assert aside.read_text() == "{"
    assert await storage.list() == {"anthropic": credential}


async def test_a_typed_key_is_stored_escaped_with_its_variables(storage: AuthStorage) -> None:
    ui = ScriptedUI(" !k$y ", "acme ", "eu")
    await storage.set("gw", OAuthCredential(access="a", refresh="r", expires=1))

    credential = await sign_in_with_key(GATEWAY, ui, storage=storage)

    assert credential == ApiKeyCredential(key="$!k$$y", env={"ACCOUNT": "acme", "REGION": "eu"})
    assert await expand(credential.key or "", environ={}) == "!k$y"
    assert await storage.get("gw") == credential
    assert [(prompt.kind, prompt.message) for prompt in ui.prompts] == [
        ("secret", "API key for Gateway:"),
        ("text", "ACCOUNT:"),
        ("text", "REGION:"),
    ]
    assert ui.shown == [f"Saved in {storage.where}. It replaces the login that was stored."]


async def test_an_empty_key_cancels_the_login(storage: AuthStorage) -> None:
    with pytest.raises(LoginCancelled, match="No key was given"):
        await sign_in_with_key(GATEWAY, ScriptedUI("  "), storage=storage)

    assert await storage.list() == {}
