"""Credentials for subcommands that run without a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import UNSET, UnsetType

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.errors import StoreDamaged
from pi.ai.auth.login_settings import with_host_overrides
from pi.ai.auth.resolve import ResolvedCredential, how_to_get, resolve
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import Models
from pi.ai.errors import ProviderError
from pi.ai.factory import Network, make_services
from pi.ai.former_names import current_name
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.base.records import Record, replace
from pi.cli.command_context import local_machine
from pi.coding.models.registry import ModelRegistry
from pi.coding.models.starting import UnknownModel
from pi.coding.runtime.machine import Machine, settings_here
from pi.coding.runtime.models import discover_models, migrate_credentials, own_models
from pi.coding.settings.settings import Settings

Reason = Literal[
    "provider_not_found",
    "credentials_not_configured",
    "credential_not_available",
    "invalid_state",
]


class MissingTarget(PiError):
    """No provider or model was given."""

    def __init__(self) -> None:
        super().__init__("No provider given.", hint="Use --provider <name> or --model <pattern>.")


class NoCredentials(PiError):
    """There are no credentials, or they are invalid."""


class Source(Record):
    """The source of credentials; never their values."""

    source: str
    expires: int | UnsetType = UNSET
    """Expiry of a login in milliseconds since 1970."""


class Check(Record):
    """The output of ``pi auth check --json``."""

    status: Literal["ready", "not_ready", "invalid"]
    provider: str
    reason: Reason | UnsetType = UNSET
    auth_type: Literal["api_key", "oauth"] | UnsetType = UNSET
    credentials: Source | UnsetType = UNSET


class Credentials(Record):
    """Store, providers and settings of this machine. The owner closes ``models``."""

    host: Machine
    storage: AuthStorage
    models: Models
    clients: Mapping[str, Json]
    keys: Mapping[str, str]
    """API keys of ``models.json``, by provider."""

    @classmethod
    def of(cls, environ: Mapping[str, str], *, report: Callable[[str], None]) -> Credentials:
        """Load the user's files and ``environ``."""
        cwd = Path.cwd()
        host = local_machine(environ, cwd, report=report)
        values = settings_here(host, cwd).values
        storage = AuthStorage(host.agent_dir / "auth.json", clock=host.clock)
        quiet = replace(host, report=lambda text: None)  # discover_models reports errors itself
        own = own_models(quiet).providers
        return cls(
            host=host,
            storage=storage,
            models=discover_models(host, cwd, values=values, storage=storage).models,
            clients=with_host_overrides(values.oauth_clients, host.environ),
            keys={provider.id: provider.api_key for provider in own if provider.api_key},
        )

    async def import_older(self) -> None:
        """Import credentials that older versions stored in other files."""
        settings = Settings.of(self.host.agent_dir, Path.cwd(), clock=self.host.clock)
        await migrate_credentials(self.host, settings, self.storage)

    def device_id(self) -> str:
        """Return the id of this installation."""
        settings = Settings.of(self.host.agent_dir, Path.cwd(), clock=self.host.clock)
        return settings.device_id()

    def rows(self) -> dict[str, Provider]:
        """All providers by id."""
        return {row.id: row for row in self.models.get_providers()}

    def target(self, provider: str | None, model: str | None) -> str:
        """Return the requested provider: by name, or the provider of a model."""
        if model is not None:
            choice = ModelRegistry(self.models).resolve(model, provider)
            if choice is None:
                raise UnknownModel(
                    f'Model "{model}" not found. Use --list-models to see available models.'
                )
            return choice.model.provider
        if provider is None:
            raise MissingTarget()
        return current_name(provider)

    async def check(
        self, provider: str, *, refresh: bool = True, show_source: bool = False
    ) -> tuple[Check, str]:
        """Return whether ``provider`` has credentials, and if not, why, in one sentence."""
        if provider not in self.rows():
            return _not_ready(provider, "provider_not_found"), self.unknown(provider)
        try:
            stored = await self.storage.get(provider)
        except StoreDamaged as error:
            check = Check(status="invalid", provider=provider, reason="invalid_state")
            return check, error.explain()
        login = stored if isinstance(stored, OAuthCredential) else None
        if login is not None and not refresh:
            return self._check_unrefreshed(provider, login, show_source=show_source)
        try:
            credential = await self._resolve(provider, min_expiry=0.0)
        except ProviderError as error:
            return _not_ready(provider, "credential_not_available"), error.explain()
        if credential is None:
            check = _not_ready(provider, "credentials_not_configured")
            return check, how_to_get(self.rows()[provider])
        kind = credential.access.kind
        return Check(
            status="ready",
            provider=provider,
            auth_type=kind if kind in ("api_key", "oauth") else UNSET,
            credentials=_source(credential.source, login) if show_source else UNSET,
        ), ""

    async def resolved(self, provider: str, *, min_expiry: float = 0.0) -> ResolvedCredential:
        """Return the credentials for requests to ``provider``.

        Raises ``PiError`` if there are none.
        """
        if provider not in self.rows():
            raise NoCredentials(self.unknown(provider))
        credential = await self._resolve(provider, min_expiry=min_expiry)
        if credential is None:
            row = self.rows()[provider]
            raise NoCredentials(f"No credentials for {row.name}.", hint=how_to_get(row))
        return credential

    async def _resolve(self, provider: str, *, min_expiry: float) -> ResolvedCredential | None:
        services = make_services(self.host.environ, self.host.clock, Network())
        try:
            return await resolve(
                self.rows()[provider],
                storage=self.storage,
                environ=self.host.environ,
                http=services.http,
                clock=self.host.clock,
                configured_key=self.keys.get(provider),
                min_expiry=min_expiry,
                clients=self.clients,
                cwd=Path.cwd(),
            )
        finally:
            await services.close()

    def _check_unrefreshed(
        self, provider: str, login: OAuthCredential, *, show_source: bool
    ) -> tuple[Check, str]:
        """Return the status of a login from its stored expiry, without network requests."""
        if login.expires <= self.host.clock.now_ms():
            return _not_ready(provider, "credential_not_available"), "The login has expired."
        source = _source(self.storage.where, login) if show_source else UNSET
        return Check(status="ready", provider=provider, auth_type="oauth", credentials=source), ""

    def unknown(self, provider: str) -> str:
        """The error message for an unknown provider."""
        like = nearest(provider, self.rows())
        suggestion = f" Did you mean {like}?" if like else ""
        return f'Unknown provider "{provider}".{suggestion}'


def _not_ready(provider: str, reason: Reason) -> Check:
    return Check(status="not_ready", provider=provider, reason=reason)


def _source(source: str, login: OAuthCredential | None) -> Source:
    return Source(source=source, expires=login.expires if login else UNSET)
