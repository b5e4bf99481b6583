"""Sign in with ChatGPT: the models of api.openai.com with a ChatGPT plan. PKCE in the browser.

The page registers a client for this installation and returns its id with the code. The tokens
belong to that client, so its id is stored with them and sent with every refresh.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from uuid import uuid4

import msgspec

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import LoginFailed
from pi.ai.auth.login import LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.browser import browser_login
from pi.ai.auth.oauth.tokens import bearer, credential_of, refresh_tokens
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock
from pi.base.records import replace

__all__ = ["access", "login", "refresh"]

CLIENT_ID = "clientId"
SCOPES = "scopes"
"""Extra fields of the stored credential."""

access = bearer


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in."""
    nonce = urlsafe_b64encode(os.urandom(24)).decode()
    device = settings.device_id or str(uuid4())
    parameters = {"ext_agent_host_id": f"urn:uuid:{device}", "nonce": nonce}
    settings = replace(settings, authorize_params=settings.authorize_params | parameters)
    issued = settings

    def returned(parameters: Mapping[str, str]) -> LoginSettings:
        nonlocal issued
        if not (client_id := parameters.get("client_id")):
            raise LoginFailed(
                "OpenAI's answer names no client.",
                hint="Paste the whole address at which the browser ends.",
            )
        issued = replace(settings, client_id=client_id)
        return issued

    tokens = await browser_login(ui, http, clock, settings, returned=returned)
    if _nonce_of(tokens.id_token) not in (None, nonce):
        raise LoginFailed("OpenAI's tokens belong to another login.", hint="Log in once more.")
    scopes = (tokens.scope or settings.scope).split()
    credential = credential_of(tokens, clock, settings)
    return replace(credential, extra={CLIENT_ID: issued.client_id, SCOPES: scopes})


async def refresh(
    credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Return the credential with new tokens, requested by the client that it was issued to."""
    if isinstance(client_id := credential.extra.get(CLIENT_ID), str):
        settings = replace(settings, client_id=client_id)
    return await refresh_tokens(credential, http, clock, settings)


def _nonce_of(token: str) -> str | None:
    """Return the nonce of an identity token; ``None`` if it has none."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["nonce"])
    except (ValueError, LookupError, TypeError):  # as in openai_codex
        return None
