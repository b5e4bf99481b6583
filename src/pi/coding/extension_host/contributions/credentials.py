"""Credentials that extensions know of, asked before what the person has stored."""

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
from pi.coding.extension_host.events.answers import described
from pi.coding.extension_host.events.handlers import ReportHandlerFailure

if TYPE_CHECKING:
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services


FindKey: TypeAlias = Callable[[str], Awaitable[str | None] | str | None]
"""The key for a provider or service of that name; ``None`` leaves it to whoever is asked next."""


class AuthUnavailable(PiError):
    """A source that alone may give a credential cannot: nobody else is asked."""


class AuthSource(Record):
    """Somebody who knows keys."""

    find: FindKey
    names: frozenset[str] | None = None
    """Whom it has keys for; ``None`` means that it must be asked to know."""

    def concerns(self, name: str) -> bool:
        """Whether it is worth asking for ``name``."""
        return self.names is None or name in self.names


class AuthSources:
    """Implements ``Authenticator`` with what extensions know; ``None`` where they know nothing."""

    def __init__(self, rows: OrderedList[AuthSource], failed: ReportHandlerFailure) -> None:
        self._rows = rows
        self._failed = failed

    async def key(self, name: str) -> str | None:
        """The first key that a source gives; one that fails is reported and passed over."""
        for row in self._rows:
            if not row.value.concerns(name):
                continue
            try:
                key = await contained(partial(row.value.find, name))
            except AuthUnavailable:
                raise
            except Exception as problem:
                self._failed(row.owner, f"credentials of {name}", problem)
                continue
            if key:
                remember_used(key)
                return key
        return None

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """What opens a provider's door; a key of the command line goes before all sources."""
        if options.api_key:
            return None
        try:
            key = await self.key(provider.id)
        except AuthUnavailable as problem:
            raise AuthenticationFailed(problem.message, hint=problem.hint) from problem
        return None if key is None else Access(api_key=key, kind="api_key")

    def is_configured(self, provider: Provider) -> bool:
        """Whether a source has said that it has a key."""
        named = (row.value.names for row in self._rows)
        return any(provider.id in names for names in named if names is not None)

    def missing(self, provider: Provider) -> MissingCredentials:
        """Nothing: sources need not explain what they do not have."""
        return MissingCredentials()


# Logins that extensions bring: how a person signs in, and how what they got is renewed.


Tokens: TypeAlias = OAuthCredential | Mapping[str, Any]
"""``access``, ``refresh``, ``expires`` in milliseconds since 1970, and whatever else is needed."""


class LoginCallbacks:
    """What a login may ask and show while it goes on."""

    def __init__(self, ui: LoginUI, clock: Clock) -> None:
        self._ui = ui
        self.clock = clock

    def on_auth(self, url: str, instructions: str = "") -> None:
        """Have the person open a page."""
        self._ui.notify(AuthUrl(url=url, instructions=instructions))

    def on_device_code(self, user_code: str, url: str, *, expires_in: float = 900.0) -> None:
        """Have the person type a code into a page."""
        self._ui.notify(DeviceCode(user_code=user_code, url=url, expires_in=expires_in))

    def on_progress(self, message: str) -> None:
        """Say what is being waited for."""
        self._ui.notify(LoginProgress(message=message))

    async def on_prompt(self, message: str, *, placeholder: str = "", secret: bool = False) -> str:
        """What the person answers; ``LoginCancelled`` if they give up."""
        return await self._ui.ask(
            LoginPrompt(
                kind="secret" if secret else "text", message=message, placeholder=placeholder
            )
        )

    async def on_manual_code_input(self, message: str = "Paste the code:") -> str:
        """The code of a browser that did not come back by itself; may be cancelled."""
        return await self._ui.ask(LoginPrompt(kind="manual_code", message=message))


class OAuthConfig(Record):
    """How one signs in to a provider, or to any other service."""

    name: str
    login: Callable[[LoginCallbacks], Awaitable[Tokens]]
    refresh_token: Callable[[OAuthCredential], Awaitable[Tokens]]
    """``AuthenticationFailed`` when the person has to sign in again."""
    get_api_key: Callable[[OAuthCredential], str] = lambda credential: credential.access
    is_subscription: bool = False
    """Whether a plan pays, and not single requests."""
    modify_models: Callable[[tuple[Model, ...], OAuthCredential], tuple[Model, ...]] | None = None
    """The models that somebody who is signed in has."""


class ExtensionLogin:
    """Implements ``pi.ai.auth.login.Login``; what goes wrong in the extension harms nobody."""

    def __init__(self, config: OAuthConfig) -> None:
        self._config = config
        self.settings = LoginSettings(subscription=config.is_subscription)

    async def login(
        self, ui: LoginUI, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """Sign a person in."""
        try:
            return _credential(await self._config.login(LoginCallbacks(ui, clock)))
        except PiError:
            raise
        except Exception as problem:
            raise ExtensionError(f"The login to {self._config.name} failed: {problem}") from problem

    async def refresh(
        self, credential: OAuthCredential, http: HttpClient, clock: Clock, settings: LoginSettings
    ) -> OAuthCredential:
        """The credential with a later end."""
        try:
            return _credential(await self._config.refresh_token(credential))
        except ProviderError:
            raise
        except Exception as problem:
            raise ProviderUnavailable(str(problem) or type(problem).__name__) from problem

    def access(self, credential: OAuthCredential, settings: LoginSettings) -> Access:
        """What requests take along."""
        return Access(api_key=self._config.get_api_key(credential), kind="oauth")


def oauth_from(given: OAuthConfig | Mapping[str, Any], owner: str) -> OAuthConfig:
    """A login as such, or from a dict of its fields."""
    if isinstance(given, OAuthConfig):
        return given
    return described(OAuthConfig, given, f"The login of {owner}")


def _credential(given: Tokens) -> OAuthCredential:
    if isinstance(given, OAuthCredential):
        return given
    fields = dict(given)
    fields.pop("type", None)
    try:
        known = {name: fields.pop(name) for name in ("access", "refresh", "expires")}
    except KeyError as missing:
        raise ExtensionError(f"What a login gave has no {missing}.") from missing
    return OAuthCredential(**known, extra=fields)
