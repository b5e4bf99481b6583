"""Credentials, as one extension asks for them and adds to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.auth.values import expand, remember_used
from pi.coding.extension_host.credentials import AuthSource, AuthSources, FindKey
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.logins import OAuthConfig, oauth_from
from pi.coding.extension_host.order import At
from pi.coding.extension_host.providers import Service
from pi.coding.extension_host.registration import Registration


class ExtensionAuth:
    """Keys of providers and of other services; extensions may know of some, and add logins."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._sources = AuthSources(
            instance.shelves.registries.auth_sources, instance.shelves.failed
        )

    async def get(self, name: str, env: Sequence[str] = ()) -> str | None:
        """The key for ``name``: of a source, the store, or the first of these variables."""
        session = self._instance.link.session
        key = await self._sources.key(name)
        if key is None and session.models.registry.models.get_provider(name) is not None:
            access = await session.models.registry.models.access(name)
            key = None if access is None else access.api_key
        if key is None:
            stored = await session.place.credentials.get(name)
            if isinstance(stored, ApiKeyCredential) and stored.key:
                return await expand(
                    stored.key, environ=session.place.environ, cwd=session.place.cwd
                )
        variables = session.place.environ
        key = key or next((variables[one] for one in env if variables.get(one)), None)
        remember_used(key)
        return key

    async def set(self, name: str, key: str) -> None:
        """Store a key."""
        credentials = self._instance.link.session.place.credentials
        await credentials.set(name, ApiKeyCredential(key=key))

    def add_source(
        self, find: FindKey, *, names: Collection[str] | None = None, at: At = "normal"
    ) -> Registration:
        """Have ``find(name)`` asked for keys before the store; the first that gives one counts.

        ``names`` are those that it has keys for: their models can be chosen without asking. One
        that raises ``AuthUnavailable`` forbids that anybody else is asked.
        """
        source = AuthSource(find=find, names=None if names is None else frozenset(names))
        return self._instance.add_row(self._instance.shelves.registries.auth_sources, source, at)

    def add_login(
        self, name: str, *, label: str = "", oauth: OAuthConfig | Mapping[str, Any] | None = None
    ) -> Registration:
        """Have ``/login name`` store a key or, with ``oauth``, sign in to a service."""
        flow = None if oauth is None else oauth_from(oauth, name)
        service = Service(name, label or (flow.name if flow else name), flow)
        return self._instance.keep(
            self._instance.shelves.providers.add(service, self._instance.owner)
        )
