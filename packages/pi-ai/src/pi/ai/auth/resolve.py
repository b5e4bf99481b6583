"""Chooses the credential for a provider: given, stored, configured, or from the environment.

The first one found is used. If it does not work, an error is raised. There is no fallback to the
next one: it might bill another account.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.auth import ambient
from pi.ai.auth.config_values import (
    CommandCache,
    expand,
    may_expand,
    remember_used,
    unresolved_reason,
)
from pi.ai.auth.credentials import ApiKeyCredential, Credential, OAuthCredential
from pi.ai.auth.login_settings import NO_CLIENTS, login_settings
from pi.ai.auth.storage import AuthStorage
from pi.ai.errors import AuthenticationFailed
from pi.ai.messages import Json
from pi.ai.models.custom import CustomProvider
from pi.ai.models.model import Model
from pi.ai.provider import Cloud, Provider
from pi.ai.request import Access, StreamOptions
from pi.base.clock import Clock
from pi.base.files import FileAccessError
from pi.base.records import Record, replace

if TYPE_CHECKING:
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services


MODELS_JSON = "models.json"


class ResolvedCredential(Record):
    """The credential of a request, and its source."""

    access: Access
    source: str
    """``--api-key``, the path of the store, ``models.json``, a variable or a cloud."""
    subscription: bool = False
    """Whether a plan is used instead of paying per request."""
    unused: tuple[str, ...] = ()
    """Sources of other credentials that exist and are not used."""

    def billing_note(self) -> str:
        """Return a sentence for the user about who is billed."""
        if self.access.kind == "none":
            return "No key is needed."
        if self.subscription:
            payer = "the subscription you are logged in to"
        elif self.access.kind == "ambient":
            payer = f"your {self.source}"
        else:
            payer = f"the key from {self.source}"
        others = f" Not used: {', '.join(self.unused)}." if self.unused else ""
        return f"Requests are paid through {payer}.{others}"


class MissingCredentials(Record):
    """Why requests to a provider have no credentials."""

    problem: str = ""
    """The error of the configured credentials; empty if there are none at all."""
    advice: str = ""

    def explain(self) -> str:
        """Return both as one text."""
        return f"{self.problem} {self.advice}".strip()


def unused_sources(
    provider: Provider, environ: Mapping[str, str], configured_key: str | None
) -> tuple[str, ...]:
    """Return the sources of further credentials, which a login overrides."""
    names = (*provider.token_variables, *provider.key_variables)
    variables = tuple(name for name in names if environ.get(name))
    return (MODELS_JSON, *variables) if configured_key else variables


async def resolve(
    provider: Provider,
    *,
    storage: AuthStorage,
    environ: Mapping[str, str],
    http: HttpClient,
    clock: Clock,
    explicit_key: str | None = None,
    configured_key: str | None = None,
    base_url: str | None = None,
    min_expiry: float = 0.0,
    clients: Mapping[str, Json] = NO_CLIENTS,
    cwd: Path = Path(),
) -> ResolvedCredential | None:
    """Return the credential to use; ``None`` if there is none at all.

    ``configured_key`` is that of models.json, ``base_url`` the model's own URL if it is not the
    provider's, ``clients`` the setting of that name, ``min_expiry`` how many seconds a token must
    remain valid. Raises ``AuthenticationFailed`` for a credential that does not work, and another
    ``ProviderError`` for temporary failures.
    """
    try:
        stored = await storage.get(provider.id)
    except FileAccessError as error:
        if not explicit_key:
            raise AuthenticationFailed(error.message, hint=error.hint) from error
        stored = None
    variables = _variables(environ, stored)
    resolved: ResolvedCredential | None
    if explicit_key:
        resolved = ResolvedCredential(access=_key(explicit_key), source="--api-key")
    elif isinstance(stored, OAuthCredential):
        resolved = await _logged_in(
            provider, stored, storage, http, clock, min_expiry=min_expiry, clients=clients
        )
        resolved = replace(resolved, unused=unused_sources(provider, variables, configured_key))
    elif stored is not None and stored.key:
        resolved = await _expanded(
            provider, stored.key, storage.where, variables, cwd, storage.commands
        )
    elif configured_key:
        resolved = await _expanded(provider, configured_key, MODELS_JSON, variables, cwd)
    else:
        resolved = _from_environment(provider, variables, stored, clients)
    if resolved is None:
        return None
    if provider.ambient and resolved.access.kind == "ambient":
        ambient.check(provider.ambient, _of_cloud(provider.ambient, variables, stored))
    return replace(resolved, access=_placed(resolved.access, provider, stored, variables, base_url))


def is_configured(
    provider: Provider,
    *,
    storage: AuthStorage,
    environ: Mapping[str, str],
    configured_key: str | None = None,
) -> bool:
    """Whether credentials seem to exist, without network, commands or waiting."""
    try:
        stored = storage.peek(provider.id)
    except FileAccessError:
        stored = None  # resolve() reports the reason
    variables = _variables(environ, stored)
    if not all(variables.get(name) for name in _needed(provider, provider.base_url)):
        return False
    if isinstance(stored, OAuthCredential):
        return provider.login is not None
    key = (stored.key if stored is not None else None) or configured_key
    if key:
        return may_expand(key, variables)
    return _from_environment(provider, variables, stored, NO_CLIENTS) is not None


def missing(
    provider: Provider,
    *,
    storage: AuthStorage,
    environ: Mapping[str, str],
    configured_key: str | None = None,
) -> MissingCredentials:
    """Return why there are no credentials and how to get some, without network or commands."""
    try:
        stored = storage.peek(provider.id)
    except FileAccessError as error:
        return MissingCredentials(problem=error.message, advice=error.hint)
    variables = _variables(environ, stored)
    if not isinstance(stored, OAuthCredential):
        own = stored.key if stored is not None else None
        key, source = (own, storage.where) if own else (configured_key, MODELS_JSON)
        if key and not may_expand(key, variables):
            return MissingCredentials(
                problem=_no_value(provider, source, key, variables), advice=_CORRECT_IT
            )
    unset = [name for name in _needed(provider, provider.base_url) if not variables.get(name)]
    if unset and _from_environment(provider, variables, None, NO_CLIENTS) is not None:
        return MissingCredentials(
            problem=f"{provider.name} also needs {' and '.join(unset)}.", advice=_SET_IT
        )
    return MissingCredentials(advice=how_to_get(provider))


def how_to_get(provider: Provider) -> str:
    """Return how to get credentials of a provider."""
    instructions = [
        f"set {name}" for name in (provider.key_variables or provider.token_variables)[:1]
    ]
    if provider.ambient and (way := ambient.WAYS.get(provider.ambient)):
        instructions.append(way)
    instructions.append(f"run `pi auth login {provider.id}`")
    return f"To use {provider.name}, {' or '.join(instructions)}."


def fill_placeholders(url: str, variables: Mapping[str, str]) -> str:
    """Return ``url`` with each ``{NAME}`` replaced by that variable."""
    for name, value in variables.items():
        url = url.replace(f"{{{name}}}", value)
    return url


# ------------------------------------------------------------------------------------------------


async def _logged_in(
    provider: Provider,
    stored: OAuthCredential,
    storage: AuthStorage,
    http: HttpClient,
    clock: Clock,
    *,
    min_expiry: float,
    clients: Mapping[str, Json],
) -> ResolvedCredential:
    # Lazy: most users have a key.
    from pi.ai.auth.login import load_login
    from pi.ai.auth.refresh import refresh_if_expiring

    login, settings = load_login(provider), login_settings(provider, clients)
    try:
        credential = await refresh_if_expiring(
            provider,
            stored,
            login=login,
            settings=settings,
            storage=storage,
            http=http,
            clock=clock,
            min_expiry=min_expiry,
        )
    except FileAccessError as error:
        raise AuthenticationFailed(
            f"The login to {provider.name} could not be renewed: {error.message}",
            hint=error.hint,
        ) from error
    access = login.access(credential, settings)
    return ResolvedCredential(
        access=access, source=storage.where, subscription=settings.subscription
    )


async def _expanded(
    provider: Provider,
    text: str,
    source: str,
    variables: Mapping[str, str],
    cwd: Path,
    remembered: CommandCache | None = None,
) -> ResolvedCredential:
    key = await expand(text, environ=variables, cwd=cwd, remembered=remembered)
    if key is None:
        raise AuthenticationFailed(_no_value(provider, source, text, variables), hint=_CORRECT_IT)
    return ResolvedCredential(access=_key(key), source=source)


_CORRECT_IT = "Correct it, or remove it to use the environment."
_SET_IT = "Set it in the environment, or in the env of the provider's entry in auth.json."


def _no_value(provider: Provider, source: str, text: str, variables: Mapping[str, str]) -> str:
    reason = unresolved_reason(text, variables)
    return f"The API key for {provider.name} in {source} has no value: {reason}."


def _from_environment(
    provider: Provider,
    variables: Mapping[str, str],
    stored: ApiKeyCredential | None,
    clients: Mapping[str, Json],
) -> ResolvedCredential | None:
    cloud, own = provider.ambient, stored.env if stored is not None else {}
    if cloud:
        variables = _of_cloud(cloud, variables, stored)
    for name in provider.token_variables:
        if token := variables.get(name):
            headers = login_settings(provider, clients).request_headers
            access = Access(api_key=token, headers=headers, kind="oauth")
            return ResolvedCredential(access=access, source=name)
    for name in provider.key_variables:
        if key := variables.get(name):
            return ResolvedCredential(access=_key(key), source=name)
    # An entry with only variables means: use the cloud's chain with these.
    if cloud and (own or ambient.has_credentials(cloud, variables)):
        return ResolvedCredential(access=Access(kind="ambient"), source=ambient.NAMES[cloud])
    if not provider.needs_key:
        return ResolvedCredential(access=Access(kind="none"), source="")
    return None


def _variables(environ: Mapping[str, str], stored: Credential | None) -> Mapping[str, str]:
    own = stored.env if isinstance(stored, ApiKeyCredential) else {}
    return {**environ, **own} if own else environ


def _of_cloud(
    cloud: Cloud, variables: Mapping[str, str], stored: Credential | None
) -> Mapping[str, str]:
    """Return the variables for the chain of ``cloud``.

    A profile chosen for pi takes precedence over keys in the environment.
    """
    own = stored.env if isinstance(stored, ApiKeyCredential) else {}
    return own if ambient.has_credentials(cloud, own) else variables


def _needed(provider: Provider, url: str) -> list[str]:
    """Return the variables that ``url`` requires; a URL in models.json may be complete."""
    return [name for name in provider.needed_variables if f"{{{name}}}" in url]


def _key(key: str) -> Access:
    return Access(api_key=key, kind="api_key")


def _placed(
    access: Access,
    provider: Provider,
    stored: Credential | None,
    variables: Mapping[str, str],
    base_url: str | None,
) -> Access:
    """Return ``access`` with the provider's variables, and its URL if they are part of it."""
    url = base_url or provider.base_url
    names = _needed(provider, url)
    missing = [name for name in names if not variables.get(name)]
    if missing:
        raise AuthenticationFailed(
            f"{provider.name} also needs {' and '.join(missing)}.",
            hint=_SET_IT,
        )
    needed = {name: variables[name] for name in names}
    own = stored.env if isinstance(stored, ApiKeyCredential) else {}
    filled = fill_placeholders(url, needed)
    return replace(
        access,
        env={**needed, **own, **access.env},
        base_url=access.base_url or (filled if filled != url else None),
    )


_BEARER = "authorization"


class Authentication:
    """Finds credentials in the store, in models.json and in the environment, in this order."""

    def __init__(
        self,
        storage: AuthStorage,
        *,
        environ: Mapping[str, str],
        cwd: Path,
        custom: Iterable[CustomProvider] = (),
        clients: Mapping[str, Json] | None = None,
    ) -> None:
        self._storage = storage
        self._environ = environ
        self._cwd = cwd
        self._custom = {provider.id: provider for provider in custom}
        self._clients = clients or {}

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Return credentials and configured headers; ``None`` if there are no credentials."""
        custom = self._custom.get(provider.id)
        environ = {**self._environ, **options.env} if options.env else self._environ
        resolved = await resolve(
            provider,
            storage=self._storage,
            environ=environ,
            http=services.http,
            clock=services.clock,
            explicit_key=options.api_key,
            configured_key=custom.api_key if custom else None,
            base_url=model.base_url if model else None,
            clients=self._clients,
            cwd=self._cwd,
        )
        if resolved is None:
            return None
        remember_used(resolved.access.api_key)  # a login may replace its token at any time
        if custom is None:
            return resolved.access
        headers = {**custom.headers, **((model.headers or {}) if model else {})}
        expanded = await self._expanded(provider, headers, environ)
        headers = {**expanded, **resolved.access.headers}
        if custom.auth_header and (key := resolved.access.api_key):
            headers = {name: value for name, value in headers.items() if name.lower() != _BEARER}
            headers["Authorization"] = f"Bearer {key}"
        return replace(resolved.access, headers=headers)

    def is_configured(self, provider: Provider) -> bool:
        """Whether credentials seem to exist; uses neither the network nor a command."""
        custom = self._custom.get(provider.id)
        return is_configured(
            provider,
            storage=self._storage,
            environ=self._environ,
            configured_key=custom.api_key if custom else None,
        )

    def runs_command(self, provider: Provider) -> bool:
        """Whether the key of ``provider`` is the output of a command."""
        custom = self._custom.get(provider.id)
        try:
            stored = self._storage.peek(provider.id)
        except FileAccessError:
            return False
        key = stored.key if isinstance(stored, ApiKeyCredential) else None
        return (key or (custom.api_key if custom else None) or "").startswith("!")

    def missing(self, provider: Provider) -> MissingCredentials:
        """Return why ``provider`` has no credentials, and how to get some."""
        custom = self._custom.get(provider.id)
        return missing(
            provider,
            storage=self._storage,
            environ=self._environ,
            configured_key=custom.api_key if custom else None,
        )

    async def _expanded(
        self, provider: Provider, headers: Mapping[str, str], environ: Mapping[str, str]
    ) -> dict[str, str]:
        expanded: dict[str, str] = {}
        for name, text in headers.items():
            value = await expand(text, environ=environ, cwd=self._cwd)
            if value is None:
                raise AuthenticationFailed(
                    f"The header {name} of {provider.name} in models.json has no value: "
                    f"{unresolved_reason(text, environ)}."
                )
            expanded[name] = value
        return expanded
