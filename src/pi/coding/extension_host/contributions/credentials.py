"""Credentials and logins that extensions provide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.auth.config_values import remember_used
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.resolve import MissingCredentials
from pi.ai.errors import AuthenticationFailed, ProviderError, ProviderUnavailable
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.bus import OrderedList
from pi.coding.extension_host.errors import ExtensionError, contained
from pi.coding.extension_host.events.answers import record_from_fields
from pi.coding.extension_host.events.handlers import ReportHandlerFailure

if TYPE_CHECKING:
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services


FindKey: TypeAlias = Callable[[str], Awaitable[str | None] | str | None]
"""Returns the key of a provider or service; ``None`` leaves it to the next source."""


class AuthUnavailable(PiError):
    """Raised by a source that must provide the credential and cannot; no other source is used."""


class AuthSource(Record):
    """A source of API keys."""

    find: FindKey
    names: frozenset[str] | None = None
    """Providers that it has keys for; ``None`` if that is only known by calling it."""

    def concerns(self, name: str) -> bool:
        """Whether it may have a key for ``name``."""
        return self.names is None or name in self.names


class AuthSources:
    """Implements ``Authenticator`` with the sources of extensions; they come before stored keys."""

    def __init__(self, rows: OrderedList[AuthSource], failed: ReportHandlerFailure) -> None:
        self._rows = rows
        self._failed = failed

    async def key(self, name: str) -> str | None:
        """The first key of a source; a source that fails is reported and skipped."""
        for row in self._rows:
            if not row.value.concerns(name):
                continue
            try:
                key = await contained(partial(row.value.find, name))
            except AuthUnavailable:
                raise
            except Exception as error:
                self._failed(row.owner, f"credentials of {name}", error)
                continue
            if key:
                remember_used(key)
                return key
        return None

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Credentials of a provider; a key from the command line precedes all sources."""
        if options.api_key:
            return None
        try:
            key = await self.key(provider.id)
        except AuthUnavailable as error:
            raise AuthenticationFailed(error.message, hint=error.hint) from error
        return None if key is None else Access(api_key=key, kind="api_key")

    def is_configured(self, provider: Provider) -> bool:
        """Whether a source has declared a key for the provider."""
        named = (row.value.names for row in self._rows)
        return any(provider.id in names for names in named if names is not None)

    def missing(self, provider: Provider) -> MissingCredentials:
        """Empty: sources do not describe what they need."""
        return MissingCredentials()


Tokens: TypeAlias = OAuthCredential | Mapping[str, Any]
"""``access``, ``refresh``, ``expires`` in milliseconds since 1970, and provider-specific fields."""


class LoginCallbacks:
    """What a login can show and ask while it runs."""

    def __init__(self, ui: LoginUI, clock: Clock) -> None:
        self._ui = ui
        self.clock = clock

    def on_auth(self, url: str, instructions: str = "") -> None:
        """Ask the user to open a page."""
        self._ui.notify(AuthUrl(url=url, instructions=instructions))

    def on_device_code(self, user_code: str, url: str, *, expires_in: float = 900.0) -> None:
        """Ask the user to type a code into a page."""
        self._ui.notify(DeviceCode(user_code=user_code, url=url, expires_in=expires_in))

    def on_progress(self, message: str) -> None:
        """Show what the login waits for."""
        self._ui.notify(LoginProgress(message=message))

    async def on_prompt(self, message: str, *, placeholder: str = "", secret: bool = False) -> str:
        """Ask the user for a text. Raises ``LoginCancelled`` if they cancel."""
        return await self._ui.ask(
            LoginPrompt(
                kind="secret" if secret else "text", message=message, placeholder=placeholder
            )
        )

    async def on_manual_code_input(self, message: str = "Paste the code:") -> str:
        """Ask for the code if the browser did not return it; may be cancelled."""
        return await self._ui.ask(LoginPrompt(kind="manual_code", message=message))


class OAuthConfig(Record):
    """How to sign in to a provider or another service."""

    name: str
    login: Callable[[LoginCallbacks], Awaitable[Tokens]]
    refresh_token: Callable[[OAuthCredential], Awaitable[Tokens]]
    """Raises ``AuthenticationFailed`` if the user has to sign in again."""
    get_api_key: Callable[[OAuthCredential], str] = lambda credential: credential.access
    is_subscription: bool = False
    """Whether a subscription pays instead of single requests."""
    modify_models: Callable[[tuple[Model, ...], OAuthCredential], tuple[Model, ...]] | None = None
    """Adapts the models to the account that is signed in."""


class ExtensionLogin:
    """Implements ``pi.ai.auth.login.Login``; errors of the extension become ``PiError``."""

    def __init__(self, config: OAuthConfig) -> None:
        self._config = config
        self.settings = LoginSettings(subscription=config.is_subscription)

    async def login(
        self, ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Sign the user in."""
        try:
            return _credential(await self._config.login(LoginCallbacks(ui, clock)))
        except PiError:
            raise
        except Exception as error:
            raise ExtensionError(f"The login to {self._config.name} failed: {error}") from error

    async def refresh(
        self, credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Renew the credential."""
        try:
            return _credential(await self._config.refresh_token(credential))
        except ProviderError:
            raise
        except Exception as error:
            raise ProviderUnavailable(str(error) or type(error).__name__) from error

    def access(self, credential: OAuthCredential, settings: LoginSettings) -> Access:
        """Credentials of a request."""
        return Access(api_key=self._config.get_api_key(credential), kind="oauth")


def oauth_from(given: OAuthConfig | Mapping[str, Any], owner: str) -> OAuthConfig:
    """Return a login, built from a dict of its fields if necessary."""
    if isinstance(given, OAuthConfig):
        return given
    return record_from_fields(OAuthConfig, given, f"The login of {owner}")


def _credential(given: Tokens) -> OAuthCredential:
    if isinstance(given, OAuthCredential):
        return given
    fields = dict(given)
    fields.pop("type", None)
    try:
        known = {name: fields.pop(name) for name in ("access", "refresh", "expires")}
    except KeyError as missing:
        raise ExtensionError(f"The result of a login lacks {missing}.") from missing
    return OAuthCredential(**known, extra=fields)
