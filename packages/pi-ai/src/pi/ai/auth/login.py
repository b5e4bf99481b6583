"""Protocols of logins and of their user interface, and ``load_login``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login_settings import CLIENTS, LoginSettings
from pi.ai.errors import AuthenticationFailed
from pi.ai.provider import Provider
from pi.ai.request import Access
from pi.base.clock import Clock
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.ai.http.client import HttpClient


# Prompts and notices of a login -------------------------------------------------------------------
# Their JSON names are those of the original pi.


class LoginChoice(Record):
    """One option of a ``select`` prompt."""

    id: str
    label: str


class LoginPrompt(Record):
    """A prompt; the answer is a text, for ``select`` the id of a choice."""

    kind: Literal["text", "secret", "select", "manual_code"]
    """``manual_code`` is asked while a browser is open, and cancelled if the browser returns."""
    message: str
    placeholder: str = ""
    choices: tuple[LoginChoice, ...] = ()


class LoginInfo(Record, tag_field="kind", tag="info"):
    """An informational message."""

    message: str


class AuthUrl(Record, tag_field="kind", tag="auth_url"):
    """A page to open in a browser; the login itself opens none."""

    url: str
    instructions: str


class DeviceCode(Record, tag_field="kind", tag="device_code"):
    """A code to enter on a page, on this or any other device."""

    user_code: str
    url: str
    expires_in: float
    """Seconds until the code expires."""
    direct_url: str = ""
    """The same page with the code already filled in, where the vendor has one."""


class LoginProgress(Record, tag_field="kind", tag="progress"):
    """What the login is waiting for."""

    message: str


Notice: TypeAlias = LoginInfo | AuthUrl | DeviceCode | LoginProgress


class LoginUI(Protocol):
    """The user interface of a login."""

    async def ask(self, prompt: LoginPrompt) -> str:
        """Return the user's answer. Raises ``LoginCancelled`` if they cancel; may be cancelled
        itself."""
        ...

    def notify(self, notice: Notice) -> None:
        """Show a notice and return at once."""
        ...


class Login(Protocol):
    """A module or object with three functions: get credentials, renew them, use them."""

    async def login(
        self, ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Log the user in. Raises ``LoginFailed`` or ``ProviderError``."""
        ...

    async def refresh(
        self, credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Return the credential with a later expiry.

        Raises ``AuthenticationFailed`` only if the user has to log in again, and another
        ``ProviderError`` for temporary failures.
        """
        ...

    def access(self, credential: OAuthCredential, settings: LoginSettings) -> Access:
        """Return what requests need: token, headers, variables."""
        ...


def load_login(provider: Provider) -> Login:
    """Return the login of ``provider``; imports its module."""
    if provider.login is not None and not isinstance(provider.login, str):
        return cast("Login", provider.login)
    if provider.login not in CLIENTS:
        raise AuthenticationFailed(
            f"There is no login for {provider.name}.", hint="Use an API key instead."
        )
    return cast("Login", import_module(f"pi.ai.auth.logins.{provider.login}"))
