"""Model providers that extensions register."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from pi.ai.auth.config_values import expand
from pi.ai.auth.credentials import Credential, OAuthCredential
from pi.ai.auth.secrets import PUBLIC_HEADERS
from pi.ai.builder import MessageBuilder
from pi.ai.collection import ModelProvider, Models
from pi.ai.errors import ProviderError
from pi.ai.event_stream import Flush
from pi.ai.models.catalog import bundled_models
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.wire_provider import WireProvider
from pi.ai.request import Access, Call
from pi.base.records import Record, replace
from pi.coding.bus import Owner
from pi.coding.extension_host.contributions.credentials import (
    ExtensionLogin,
    OAuthConfig,
    oauth_from,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.answers import record_from_fields

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)

Answer: TypeAlias = Callable[[Call, MessageBuilder, Flush], Awaitable[None]]
"""Fills the builder with the answer to a call and flushes partial content."""


class ProviderConfig(Record):
    """A provider described by its fields: a new server, or changes to a known provider."""

    name: str = ""
    base_url: str = ""
    api: str = ""
    api_key: str | None = None
    """A literal, ``$NAME`` or ``!command``."""
    headers: dict[str, str] = field(default_factory=dict)
    auth_header: bool = False
    """Whether the key is sent as ``Authorization: Bearer``, regardless of the wire."""
    models: tuple[dict[str, Any], ...] = ()
    """In the form of ``models.json``; replaces the provider's own list."""
    answer: Any = None
    """An ``Answer`` that replaces the wire."""
    oauth: Any = None
    """The login for ``/login``: an ``OAuthConfig`` or a dict of its fields."""
    refresh_models: Callable[[Access | None], Awaitable[Iterable[dict[str, Any]]]] | None = None
    """Fetches the current models; they replace ``models``."""


class ConfiguredProvider(WireProvider):
    """A provider that an extension has described."""

    def __init__(
        self,
        id: str,
        config: ProviderConfig,
        environ: Mapping[str, str],
        credential: Callable[[str], Credential | None] = lambda name: None,
    ) -> None:
        self._config = config
        self._environ = environ
        self._credential = credential
        """Returns the stored credential of a provider."""
        self._oauth = None if config.oauth is None else oauth_from(config.oauth, id)
        self._listed = config.models
        open_to_all = config.api_key is not None or config.answer is not None
        row = Provider(
            id=id,
            name=config.name or (self._oauth.name if self._oauth else id),
            base_url=config.base_url,
            secrets=_secrets(config),
            login=None if self._oauth is None else ExtensionLogin(self._oauth),
            needs_key=self._oauth is not None or not open_to_all,
        )
        super().__init__(row, self._models)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Fetch the current models from the extension."""
        if self._config.refresh_models is not None:
            try:
                self._listed = tuple(await self._config.refresh_models(access))
            except Exception as error:
                raise ProviderError(
                    f"Cannot list the models of {self.row.name}: {error}"
                ) from error

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the call to the server, or to the extension."""
        if self._config.answer is not None:
            await self._config.answer(call, builder, flush)
            return
        if self._config.api_key is not None:
            key = await expand(self._config.api_key, environ=self._environ, cwd=Path.home())
            call = replace(call, access=replace(call.access, api_key=key, kind="api_key"))
        if self._config.auth_header:
            bearer = {"Authorization": f"Bearer {call.access.api_key}"}
            call = replace(call, access=replace(call.access, headers=call.access.headers | bearer))
        await super().answer(call, builder, flush, services)

    def _models(self) -> tuple[Model, ...]:
        config = self._config
        custom = CustomProvider(
            id=self.row.id,
            base_url=config.base_url or None,
            api=config.api or None,
            models=self._listed,
        )
        models = customised(custom, () if self._listed else bundled_models(self.row.id))
        if config.headers:
            models = tuple(
                replace(model, headers={**(model.headers or {}), **config.headers})
                for model in models
            )
        return self._of_account(models)

    def _of_account(self, models: tuple[Model, ...]) -> tuple[Model, ...]:
        """The models, adapted to the account that is signed in."""
        if self._oauth is None or self._oauth.modify_models is None:
            return models
        try:
            stored = self._credential(self.row.id)
            if not isinstance(stored, OAuthCredential):
                return models
            return tuple(self._oauth.modify_models(models, stored))
        except Exception:  # one provider must not break the list of all models
            log.exception("adapting the models of %s to the account failed", self.row.id)
            return models


def _secrets(config: ProviderConfig) -> tuple[str, ...]:
    """The secrets of a description, in value syntax."""
    headers = (
        text for name, text in config.headers.items() if not re.fullmatch(PUBLIC_HEADERS, name)
    )
    return (*((config.api_key,) if config.api_key else ()), *headers)


class Service(WireProvider):
    """A service without models that supports ``/login``."""

    def __init__(self, id: str, name: str, oauth: OAuthConfig | None) -> None:
        login = None if oauth is None else ExtensionLogin(oauth)
        super().__init__(Provider(id=id, name=name or id, login=login), tuple)


class Providers:
    """Registered providers; they are queued until the model collection is connected."""

    def __init__(self) -> None:
        self._models: Models | None = None
        self._registered: list[tuple[ModelProvider, Owner]] = []
        self._replaced: dict[str, ModelProvider | None] = {}

    def connect(self, models: Models) -> None:
        """Add all providers to ``models``, and later ones at once."""
        self._models = models
        for provider, _ in self._registered:
            self._apply(provider)

    def add(self, provider: ModelProvider, owner: Owner) -> Callable[[], None]:
        """Add a provider. Returns a function that removes it."""
        registration = (provider, owner)
        self._registered.append(registration)
        self._apply(provider)

        def remove() -> None:
            if registration in self._registered:
                self._registered.remove(registration)
                self._restore(provider.row.id)

        return remove

    def remove(self, name: str, owner: Owner) -> None:
        """Remove the providers that ``owner`` registered under ``name``."""
        for registration in [*self._registered]:
            if registration[1] == owner and registration[0].row.id == name:
                self._registered.remove(registration)
                self._restore(name)

    def _apply(self, provider: ModelProvider) -> None:
        if self._models is not None:
            name = provider.row.id
            self._replaced.setdefault(name, self._models.get_provider(name))
            self._models.register(provider)

    def _restore(self, name: str) -> None:
        """Restore the previous provider: of another extension, or built in."""
        if self._models is None:
            return
        others = [provider for provider, _ in self._registered if provider.row.id == name]
        before = others[-1] if others else self._replaced.pop(name, None)
        if before is None:
            self._models.unregister(name)
        else:
            self._models.register(before)


def provider_from(
    provider: ModelProvider | str,
    config: Mapping[str, Any] | None,
    environ: Mapping[str, str],
    credential: Callable[[str], Credential | None] = lambda name: None,
) -> ModelProvider:
    """Return a provider, built from a name and its fields if necessary."""
    if not isinstance(provider, str):
        return provider
    if config is None:
        raise ExtensionError(
            f"The provider {provider} has no configuration.",
            hint="Pass a dict with base_url, api and models.",
        )
    parsed = record_from_fields(ProviderConfig, config, f"The provider {provider}")
    return ConfiguredProvider(provider, parsed, environ, credential)
