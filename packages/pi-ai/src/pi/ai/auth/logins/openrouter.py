"""Log in to OpenRouter: PKCE in the browser returns an API key without expiry."""

from __future__ import annotations

import os

from pi.ai.auth.credentials import NEVER, OAuthCredential
from pi.ai.auth.errors import GrantRefused
from pi.ai.auth.login import LoginProgress, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.browser import browser_code, new_pkce, page_url
from pi.ai.auth.oauth.loopback import CallbackListener
from pi.ai.auth.oauth.tokens import post_form, refusal
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.request import Access
from pi.base.clock import Clock, uuid7


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in."""
    pkce = new_pkce()
    # OpenRouter returns no state: the unguessable part is the path.
    path = f"{settings.redirect_path}/{uuid7(clock.now_ms(), os.urandom)}"
    async with CallbackListener(path=path, state=None, port=settings.redirect_port) as listener:
        parameters = {
            "callback_url": listener.redirect_uri,
            "code_challenge": pkce.challenge,
            "code_challenge_method": "S256",
        }
        url = page_url(settings.authorize_url, parameters)
        code = await browser_code(ui, listener, url, clock=clock, state=None)
    ui.notify(LoginProgress(message="Asking for the key…"))
    fields = {"code": code, "code_verifier": pkce.verifier, "code_challenge_method": "S256"}
    answer = await post_form(
        http, settings.key_url, fields, encoding="json", headers=settings.headers
    )
    if not answer.ok:
        raise refusal(answer, clock)
    key = answer.body.get("key")
    if not isinstance(key, str) or not key:
        raise BadAnswer("OpenRouter's answer holds no key.")
    return OAuthCredential(access=key, refresh="", expires=NEVER)


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Never needed: the key does not expire and cannot be renewed."""
    raise GrantRefused("An OpenRouter key cannot be renewed.")


def access(credential: OAuthCredential, settings: LoginSettings) -> Access:
    """Return the key."""
    headers = dict(settings.request_headers)
    return Access(api_key=credential.access, headers=headers, kind="api_key")
