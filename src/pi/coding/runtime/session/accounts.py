"""Logging in and out. The next request uses the new credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login_settings import with_host_overrides
from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import Network, make_services
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.coding.port.results import Account
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.secrets import KnownSecrets

if TYPE_CHECKING:
    from pi.ai.auth.login import LoginUI


class Accounts:
    """The user's credential store, for one session."""

    def __init__(self, core: LiveSession, storage: AuthStorage, known: KnownSecrets) -> None:
        self._core = core
        self.storage = storage
        self.secrets = known.values
        """Returns values that must not leave this machine."""

    async def all(self) -> tuple[Account, ...]:
        """Return every provider, in the order of the table."""
        stored = await self.storage.list()
        registry = self._core.registry
        return tuple(
            Account(
                provider=row,
                usable=registry.has_auth(row.id),
                logged_in=isinstance(stored.get(row.id), OAuthCredential),
                has_key=row.id in stored and not isinstance(stored[row.id], OAuthCredential),
                source=registry.models.credential_source(row.id),
            )
            for row in registry.models.get_providers()
        )

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Log in to a provider and store the credentials."""
        from pi.ai.auth.sign_in import sign_in  # lazy: logins are rare

        row, environ = self._row(provider), self._core.workspace.environment.values
        values = self._core.workspace.settings.values
        network = Network(proxy=values.http_proxy)
        services = make_services(environ, self._core.machine.clock, network)
        try:
            await sign_in(
                row,
                ui,
                storage=self.storage,
                environ=environ,
                http=services.http,
                clock=self._core.machine.clock,
                clients=with_host_overrides(values.oauth_clients, environ),
            )
        finally:
            await services.close()

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        """Ask for an API key and store it, unless the provider refuses it."""
        from pi.ai.auth.key_check import refusal
        from pi.ai.auth.sign_in import sign_in_with_key

        row, core = self._row(provider), self._core
        if core.machine.offline:
            await sign_in_with_key(row, ui, storage=self.storage)
            return
        environ = core.workspace.environment.values
        network = Network(proxy=core.workspace.settings.values.http_proxy)
        services = make_services(environ, core.machine.clock, network)
        models = core.registry.models.get_models(row.id)
        try:
            await sign_in_with_key(
                row,
                ui,
                storage=self.storage,
                check=lambda key: refusal(row, models, key, services.http),
            )
        finally:
            await services.close()

    def _row(self, provider: str) -> Provider:
        rows = {row.id: row for row in self._core.registry.models.get_providers()}
        if provider not in rows:
            from pi.base.fuzzy import did_you_mean  # lazy: for a mistyped name only

            hint = did_you_mean(provider, rows)
            raise PiError(f'Unknown provider "{provider}".', hint=hint)
        return rows[provider]
