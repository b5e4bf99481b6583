"""Log in to xAI with a Grok subscription: device code."""

from __future__ import annotations

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.oauth.device import device_login
from pi.ai.auth.oauth.tokens import bearer, credential_of, refresh_tokens
from pi.ai.http.client import HttpClient
from pi.base.clock import Clock

__all__ = ["access", "login", "refresh"]

refresh = refresh_tokens
access = bearer


async def login(
    ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
) -> OAuthCredential:
    """Log the user in."""
    return credential_of(await device_login(ui, http, clock, settings), clock, settings)
