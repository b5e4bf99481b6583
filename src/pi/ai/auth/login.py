"""What a module below ``logins`` holds, and how it is found."""

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


# How a login talks to the person: what it asks, and what it shows.
#
# The names on the wire are those of pi's login contract.


class LoginChoice(Record):
    """One of several ways to go on."""

    id: str
    label: str


class LoginPrompt(Record):
    """A question; the answer is a text, for ``select`` the id of a choice."""

    kind: Literal["text", "secret", "select", "manual_code"]
    """``manual_code`` runs beside the browser and is withdrawn when that comes back by itself."""
    message: str
    placeholder: str = ""
    choices: tuple[LoginChoice, ...] = ()


class LoginInfo(Record, tag_field="kind", tag="info"):
    """Something to know."""

    message: str


class AuthUrl(Record, tag_field="kind", tag="auth_url"):
    """A page to open in a browser; the login itself opens none."""

    url: str
    instructions: str


class DeviceCode(Record, tag_field="kind", tag="device_code"):
    """A code to type in on a page, on this or any other device."""

    user_code: str
    url: str
    expires_in: float
    """Seconds until the code is no longer good."""
    direct_url: str = ""
    """The same page with the code already filled in, where the vendor has one."""


class LoginProgress(Record, tag_field="kind", tag="progress"):
    """What is being waited for."""

    message: str


Notice: TypeAlias = LoginInfo | AuthUrl | DeviceCode | LoginProgress


class LoginUI(Protocol):
    """The person, as a login sees them."""

    async def ask(self, prompt: LoginPrompt) -> str:
        """Their answer. Raises ``LoginCancelled`` when they give up; may be cancelled itself."""
        ...

    def notify(self, notice: Notice) -> None:
        """Show it and return at once."""
        ...


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
