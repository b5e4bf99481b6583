"""Credentials that extensions know of, asked before what the person has stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pi.ai.auth.resolved import MissingCredentials
from pi.ai.auth.values import remember_used
from pi.ai.errors import AuthenticationFailed
from pi.ai.models.model import Model
from pi.ai.providers.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.extension_host.failures import contained
from pi.coding.extension_host.hooks import Failed
from pi.coding.extension_host.order import Rows

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services

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

    def __init__(self, rows: Rows[AuthSource], failed: Failed) -> None:
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
