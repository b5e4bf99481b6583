"""What the models collection asks: credentials and headers for one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.auth.resolve import is_configured, missing, resolve
from pi.ai.auth.resolved import MissingCredentials
from pi.ai.auth.storage import AuthStorage
from pi.ai.auth.values import expand, remember_used, why_not
from pi.ai.errors import AuthenticationFailed
from pi.ai.messages import Json
from pi.ai.models.custom import CustomProvider
from pi.ai.models.model import Model
from pi.ai.providers.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class Authentication:
    """Looks in the store, in models.json and in the environment, in this order."""

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
        """Credentials and configured headers; ``None`` when there are no credentials."""
        custom = self._custom.get(provider.id)
        environ = {**self._environ, **(options.env or {})}
        found = await resolve(
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
        if found is None:
            return None
        remember_used(found.access.api_key)  # a login may replace its token at any time
        if custom is None:
            return found.access
        headers = {**custom.headers, **((model.headers or {}) if model else {})}
        written = await self._expanded(provider, headers, environ)
        return replace(found.access, headers={**written, **found.access.headers})

    def is_configured(self, provider: Provider) -> bool:
        """Whether there seem to be credentials, without asking anybody."""
        custom = self._custom.get(provider.id)
        return is_configured(
            provider,
            storage=self._storage,
            environ=self._environ,
            configured_key=custom.api_key if custom else None,
        )

    def missing(self, provider: Provider) -> MissingCredentials:
        """Why ``provider`` has no credentials, and how to get some."""
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
        written: dict[str, str] = {}
        for name, text in headers.items():
            value = await expand(text, environ=environ, cwd=self._cwd)
            if value is None:
                raise AuthenticationFailed(
                    f"The header {name} of {provider.name} in models.json has no value: "
                    f"{why_not(text, environ)}."
                )
            written[name] = value
        return written
