"""Credentials and logins that extensions provide."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from pi.ai.auth.config_values import remember_used
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login import AuthUrl, DeviceCode, LoginProgress, LoginPrompt, LoginUI
from pi.ai.auth.login_settings import LoginSettings
from pi.ai.auth.resolve import MissingCredentials
from pi.ai.auth.secrets import PUBLIC_HEADERS
from pi.ai.errors import AuthenticationFailed, ProviderError, ProviderUnavailable
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.bus import OrderedList, Owner
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.answers import record_from_fields
from pi.coding.extension_host.events.handlers import ReportHandlerFailure

if TYPE_CHECKING:
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services


FindKey: TypeAlias = Callable[[str], Awaitable[str | Access | None] | str | Access | None]
"""Returns the key or ``Access`` of a provider or service; ``None`` to try the next source."""

Rejected: TypeAlias = Callable[[str, Access], Awaitable[bool | None] | bool | None]
"""Called with a name and the credentials that a server refused; True if there are others now."""

Describe: TypeAlias = Callable[[str], str]
"""Describes the origin of a name's credentials in a few words; empty if it is another source."""


class AuthUnavailable(PiError):
    """Raised by a source that must provide the credential and cannot; no other source is used."""


class AuthSource(Record):
    """A source of API keys."""

    find: FindKey
    names: frozenset[str] | None = None
    """Providers that it has keys for; ``None`` if only a call of ``find`` shows it."""
    rejected: Rejected | None = None
    describe: Describe | None = None

    def concerns(self, name: str) -> bool:
        """Whether it may have a key for ``name``."""
        return self.names is None or name in self.names


class AuthSources:
    """Implements ``Authenticator`` with the sources of extensions; they come before stored keys."""

    def __init__(self, rows: OrderedList[AuthSource], failed: ReportHandlerFailure) -> None:
        self._sources = rows
        self._failed = failed
        self._last_found: dict[str, tuple[AuthSource, Owner, Access]] = {}
        """The credentials that were returned last, by name."""

    async def find(self, name: str) -> Access | None:
        """The first credentials of a source; a source that fails is reported and skipped."""
        self._last_found.pop(name, None)
        for row in self._sources.rows:
            if not row.value.concerns(name):
                continue
            try:
                key_or_access = await contained(partial(row.value.find, name))
            except AuthUnavailable:
                raise
            except Exception as error:
                self._failed(row.owner, f"credentials of {name}", error)
                continue
            if key_or_access:
                access = (
                    key_or_access if isinstance(key_or_access, Access) else _with_key(key_or_access)
                )
                remember_secrets(access)
                self._last_found[name] = (row.value, row.owner, access)
                return access
        return None

    async def rejected_by_server(self, name: str) -> bool:
        """Notify the source of the current credentials; True if it has others now."""
        source, owner, access = self._last_found.pop(name, (None, None, None))
        if source is None or source.rejected is None or access is None or owner is None:
            return False
        try:
            return bool(await contained(partial(source.rejected, name, access)))
        except Exception as error:
            self._failed(owner, f"refused credentials of {name}", error)
            return False

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Credentials of a provider; ``None`` if no source has them or ``options`` have a key."""
        if options.api_key:
            return None
        try:
            return await self.find(provider.id)
        except AuthUnavailable as error:
            raise AuthenticationFailed(error.message, hint=error.hint) from error

    async def rejected(self, provider: Provider) -> bool:
        """A server refused the credentials; True if a source has others now."""
        return await self.rejected_by_server(provider.id)

    def is_configured(self, provider: Provider) -> bool:
        """Whether a source has declared a key for the provider."""
        named = (row.value.names for row in self._sources.rows)
        return any(provider.id in names for names in named if names is not None)

    def describe(self, name: str) -> str:
        """The origin of a provider's credentials in one line; empty if unknown."""
        for row in self._sources.rows:
            if row.value.describe is None or not row.value.concerns(name):
                continue
            try:
                text = row.value.describe(name)
            except Exception as error:
                self._failed(row.owner, f"description of the credentials of {name}", error)
                continue
            if text:
                return one_line(text)
        return ""

    def missing(self, provider: Provider) -> MissingCredentials:
        """Empty: sources do not describe what they need."""
        return MissingCredentials()


def remember_secrets(access: Access) -> None:
    """Redact the secrets of ``access`` in logs and exports."""
    remember_used(access.api_key)
    for name, value in access.headers.items():
        if not re.fullmatch(PUBLIC_HEADERS, name):
            remember_used(value)


def _with_key(key: str) -> Access:
    return Access(api_key=key, kind="api_key")


Tokens: TypeAlias = OAuthCredential | Mapping[str, Any]
"""``access``, ``refresh``, ``expires`` in milliseconds since 1970, and provider-specific fields."""


class LoginCallbacks:
    """Messages and questions to the user during a login."""

    def __init__(self, ui: LoginUI, clock: Clock) -> None:
        self._ui = ui
        self.clock = clock

    @property
    def ui(self) -> LoginUI:
        """The user interface of the login."""
        return self._ui

    def on_auth(self, url: str, instructions: str = "") -> None:
        """Ask the user to open a page."""
        self._ui.notify(AuthUrl(url=url, instructions=instructions))

    def on_device_code(self, user_code: str, url: str, *, expires_in: float = 900.0) -> None:
        """Ask the user to type a code into a page."""
        self._ui.notify(DeviceCode(user_code=user_code, url=url, expires_in=expires_in))

    def on_progress(self, message: str) -> None:
        """Show the progress of the login."""
        self._ui.notify(LoginProgress(message=message))

    async def on_prompt(self, message: str, *, placeholder: str = "", secret: bool = False) -> str:
        """Ask the user for a text. Raises ``LoginCancelled`` if they cancel."""
        return await self._ui.ask(
            LoginPrompt(
                kind="secret" if secret else "text", message=message, placeholder=placeholder
            )
        )

    async def on_manual_code_input(self, message: str = "Paste the code:") -> str:
        """Ask the user for the code, in case the browser does not return it."""
        return await self._ui.ask(LoginPrompt(kind="manual_code", message=message))


class OAuthClient(Record):
    """A client of an authorization server, for ``pi.auth.browser_flow`` and ``pi.auth.renew``."""

    authorize_url: str
    """The page where the user agrees."""
    token_url: str
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    authorize_params: dict[str, str] = field(default_factory=dict)
    """Further parameters of the page, such as ``resource``."""
    token_params: dict[str, str] = field(default_factory=dict)
    """Further fields of token requests."""
    redirect_port: int = 0
    """The callback port on this machine; 0 for any free port."""
    redirect_path: str = "/callback"
    issuer: str = ""
    """The only issuer that the callback may name (RFC 9207)."""
    issuer_required: bool = False
    """Whether a callback without the issuer is refused."""

    def settings(self) -> LoginSettings:
        """The client in the form of pi's login code."""
        secret = {"client_secret": self.client_secret} if self.client_secret else {}
        return LoginSettings(
            client_id=self.client_id,
            scope=self.scope,
            authorize_url=self.authorize_url,
            authorize_params=self.authorize_params,
            redirect_port=self.redirect_port,
            redirect_path=self.redirect_path,
            issuer=self.issuer,
            issuer_required=self.issuer_required,
            token_url=self.token_url,
            token_params={**self.token_params, **secret},
        )


class OAuthConfig(Record):
    """The login of a provider or another service."""

    name: str
    login: Callable[[LoginCallbacks], Awaitable[Tokens]]
    refresh_token: Callable[[OAuthCredential], Awaitable[Tokens]]
    """Raises ``AuthenticationFailed`` if the user has to sign in again."""
    get_api_key: Callable[[OAuthCredential], str] = lambda credential: credential.access
    is_subscription: bool = False
    """Whether requests are covered by a subscription."""
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
            return credential_from(await self._config.login(LoginCallbacks(ui, clock)))
        except PiError:
            raise
        except Exception as error:
            raise ExtensionError(f"The login to {self._config.name} failed: {error}") from error

    async def refresh(
        self, credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Renew the credential."""
        try:
            return credential_from(await self._config.refresh_token(credential))
        except ProviderError:
            raise
        except Exception as error:
            raise ProviderUnavailable(str(error) or type(error).__name__) from error

    def access(self, credential: OAuthCredential, settings: LoginSettings) -> Access:
        """Credentials of a request."""
        return Access(api_key=self._config.get_api_key(credential), kind="oauth")


def oauth_from(login: OAuthConfig | Mapping[str, Any], owner: str) -> OAuthConfig:
    """Return a login, built from a dict of its fields if necessary."""
    if isinstance(login, OAuthConfig):
        return login
    return record_from_fields(OAuthConfig, login, f"The login of {owner}")


def credential_from(tokens: Tokens) -> OAuthCredential:
    """Return tokens as a record, built from a dict of its fields if necessary."""
    if isinstance(tokens, OAuthCredential):
        return tokens
    fields = dict(tokens)
    fields.pop("type", None)
    try:
        required = {name: fields.pop(name) for name in ("access", "refresh", "expires")}
    except KeyError as missing:
        raise ExtensionError(f"The result of a login lacks {missing}.") from missing
    return OAuthCredential(**required, extra=fields)
