"""Log in to Meta: a device code for an identity, which is exchanged for a key valid for one day."""

from __future__ import annotations

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import LoginProgress, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.device import device_login
from pi.ai.auth.oauth.tokens import post_form, refusal
from pi.ai.errors import BadAnswer
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json
from pi.ai.request import Access
from pi.base.clock import Clock
from pi.base.records import replace

KEY_MS = 24 * 60 * 60 * 1000
KEY_FIELDS = ("key", "api_key", "apiKey", "access_token", "token")
"""Fields that may hold the key: the name that Meta uses was not recorded."""


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in."""
    tokens = await device_login(ui, http, clock, settings)
    identity = tokens.id_token or tokens.access_token
    ui.notify(LoginProgress(message="Asking for the key…"))
    return await refresh(
        OAuthCredential(access="", refresh=identity, expires=0), http, clock, settings
    )


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return a new key for the same identity."""
    headers = {**settings.headers, "Authorization": f"Bearer {credential.refresh}"}
    answer = await post_form(http, settings.key_url, {}, encoding="json", headers=headers)
    if not answer.ok:
        raise refusal(answer, clock)
    return replace(credential, access=_key(answer.body), expires=clock.now_ms() + KEY_MS)


def access(credential: OAuthCredential, settings: LoginSettings) -> Access:
    """Return the current key."""
    headers = dict(settings.request_headers)
    return Access(api_key=credential.access, headers=headers, kind="api_key")


def _key(body: Json) -> str:
    inner = body.get("data")
    for document in (body, inner if isinstance(inner, dict) else {}):
        for name in KEY_FIELDS:
            if isinstance(key := document.get(name), str) and key:
                return key
    raise BadAnswer("Meta's answer holds no key.")
