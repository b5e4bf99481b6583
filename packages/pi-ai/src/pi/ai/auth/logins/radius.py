"""Log in to a Radius gateway: in the browser, as the gateway describes it, or by device code."""

from __future__ import annotations

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.browser import browser_login
from pi.ai.auth.oauth.device import device_login, prefers_device
from pi.ai.auth.oauth.tokens import bearer, credential_of, post_form, refresh_tokens, refusal
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock
from pi.base.records import replace

__all__ = ["access", "login", "refresh"]

PAGE_FIELDS = ("authorization_endpoint", "authorizationEndpoint", "authorize_url", "authorizeUrl")
"""Fields that may name the login page: the form of the gateway's response was not recorded."""

access = bearer


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in, with the flow they choose."""
    settings = _complete(settings)
    if await prefers_device(ui):
        tokens = await device_login(ui, http, clock, settings)
    else:
        settings = await _described(http, clock, settings)
        tokens = await browser_login(ui, http, clock, settings)
    return credential_of(tokens, clock, settings)


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return the credential with new tokens."""
    return await refresh_tokens(credential, http, clock, _complete(settings))


def _complete(settings: LoginSettings) -> LoginSettings:
    """Return the endpoints of the gateway that serves the models, unless the settings name
    others."""
    oauth = _oauth(settings)
    return replace(
        settings,
        device_url=settings.device_url or f"{oauth}/device",
        token_url=settings.token_url or f"{oauth}/token",
    )


async def _described(http: HttpClient, clock: Clock, settings: LoginSettings) -> LoginSettings:
    """Return the settings with the login page that the gateway names."""
    if settings.authorize_url:
        return settings
    answer = await post_form(http, _oauth(settings), headers=settings.headers)
    if not answer.ok:
        raise refusal(answer, clock)
    for name in PAGE_FIELDS:
        page = answer.body.get(name)
        if isinstance(page, str) and page.startswith(("https://", "http://")):
            return replace(settings, authorize_url=page)
    raise LoginFailed(
        f"{_oauth(settings)} does not say where its login page is.",
        hint="Log in with a code instead, or set authorizeUrl in the setting oauthClients.",
    )


def _oauth(settings: LoginSettings) -> str:
    gateway = settings.base_url.rstrip("/").removesuffix("/v1")
    return f"{gateway}/v1/oauth"
