"""What a module below ``logins`` holds, and how it is found."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pi.ai.auth.clients import CLIENTS, LoginSettings
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login_ui import LoginUI
from pi.ai.errors import AuthenticationFailed
from pi.ai.providers.provider import Provider
from pi.ai.request import Access
from pi.base.clock import Clock

if TYPE_CHECKING:  # listing models must not load the HTTP client
    from pi.ai.http.client import HttpClient


class Login(Protocol):
    """Three functions of a module, or of an object: get credentials, renew them, use them."""

    async def login(
        self, ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Sign a person in. Raises ``LoginFailed`` or ``ProviderError``."""
        ...

    async def refresh(
        self, credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """The credential with a later end.

        Raises ``AuthenticationFailed`` only when the person has to log in again, and another
        ``ProviderError`` for what may pass.
        """
        ...

    def access(self, credential: OAuthCredential, settings: LoginSettings) -> Access:
        """What requests take along."""
        ...


def load_login(provider: Provider) -> Login:
    """The login of ``provider``; its code is loaded now."""
    if provider.login is not None and not isinstance(provider.login, str):
        return cast("Login", provider.login)
    if provider.login not in CLIENTS:
        raise AuthenticationFailed(
            f"There is no login for {provider.name}.", hint="Use an API key instead."
        )
    return cast("Login", import_module(f"pi.ai.auth.logins.{provider.login}"))
