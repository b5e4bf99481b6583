"""Credentials and headers for one request; variables of an Anthropic gateway."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pi.ai.auth.config_values import escape, expand, remember_used, unresolved_reason
from pi.ai.auth.resolve import MissingCredentials, is_configured, missing, resolve
from pi.ai.auth.storage import AuthStorage
from pi.ai.errors import AuthenticationFailed
from pi.ai.messages import Json
from pi.ai.models.custom import CustomProvider
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


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
        """Returns credentials and configured headers; ``None`` if there are no credentials."""
        custom = self._custom.get(provider.id)
        environ = {**self._environ, **options.env} if options.env else self._environ
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
        """Whether credentials seem to exist; uses neither the network nor a command."""
        custom = self._custom.get(provider.id)
        return is_configured(
            provider,
            storage=self._storage,
            environ=self._environ,
            configured_key=custom.api_key if custom else None,
        )

    def missing(self, provider: Provider) -> MissingCredentials:
        """Returns why ``provider`` has no credentials, and how to get some."""
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
                    f"{unresolved_reason(text, environ)}."
                )
            written[name] = value
        return written


# Anthropic's models behind a company's gateway, as environment variables describe it.


PROVIDER = "anthropic"
FOUNDRY_KEY = "ANTHROPIC_FOUNDRY_API_KEY"
CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
CLIENT_KEY = "CLAUDE_CODE_CLIENT_KEY"
"""The private key of a client certificate: the file, or its text."""
SECRET_VARIABLES = (FOUNDRY_KEY, CUSTOM_HEADERS, CLIENT_KEY)

_BETWEEN_HEADERS = r"[\n,](?=\s*[\w-]+\s*:)"
"""A new line, or a comma before the name of the next header: values may contain commas."""


def uses_foundry(environ: Mapping[str, str]) -> bool:
    """Whether ``CLAUDE_CODE_USE_FOUNDRY`` is on."""
    on = environ.get("CLAUDE_CODE_USE_FOUNDRY", "").strip().lower()
    return on in ("1", "true", "yes", "on")


def with_gateway_key(row: Provider, environ: Mapping[str, str]) -> Provider:
    """Returns the row of Anthropic with the variables that may hold its token."""
    if not uses_foundry(environ):
        return row
    return replace(row, token_variables=(FOUNDRY_KEY, *row.token_variables))


def with_gateway_url(
    own: CustomProvider | None, environ: Mapping[str, str]
) -> CustomProvider | None:
    """Returns Anthropic's entry of models.json, completed by the gateway's variables."""
    base = environ.get("FOUNDRY_BASE_URL", "") if uses_foundry(environ) else ""
    base = (base or environ.get("ANTHROPIC_BASE_URL", "")).rstrip("/").removesuffix("/v1")
    headers = custom_headers(environ)
    if not uses_foundry(environ) and not _is_gateway(base):
        headers = {}
    if not base and not headers:
        return own
    own = own or CustomProvider(id=PROVIDER)
    return replace(own, base_url=own.base_url or base or None, headers={**headers, **own.headers})


def _is_gateway(base: str) -> bool:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:  # the request itself fails with a clear error
        return False
    return bool(host) and not f".{host}".endswith(".anthropic.com")


def custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers that a variable adds to every request, in value syntax."""
    if not (text := environ.get(CUSTOM_HEADERS)):
        return {}
    lines = re.split(_BETWEEN_HEADERS, text)
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): escape(value.strip()) for name, colon, value in pairs if colon}
