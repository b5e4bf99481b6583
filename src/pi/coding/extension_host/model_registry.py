"""``ctx.model_registry``: the models that there are, by the names of the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model
from pi.ai.models_collection import ModelProvider
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.registration import Registration
from pi.coding.models.patterns import Choice
from pi.coding.models.registry import ModelRegistry

AddProvider: TypeAlias = Callable[[ModelProvider | str, Mapping[str, Any] | None], Registration]


class ExtensionModelRegistry:
    """Every wrap of the session stands around what is asked here."""

    def __init__(self, link: Link, add_provider: AddProvider) -> None:
        self._link = link
        self._add_provider = add_provider

    def get_all(self) -> tuple[Model, ...]:
        """Every model that is known."""
        return self._registry.get_all()

    def get_available(self) -> tuple[Model, ...]:
        """Every model whose provider has credentials."""
        return self._registry.get_available()

    def find(self, provider: str, model_id: str) -> Model | None:
        """The model of exactly that name."""
        return self._registry.find(provider, model_id)

    def resolve(self, pattern: str, provider: str | None = None) -> Choice | None:
        """What a person means by ``pattern``."""
        return self._registry.resolve(pattern, provider)

    def has_configured_auth(self, model: Model) -> bool:
        """Whether requests to a model have credentials to go with."""
        return self._registry.has_configured_auth(model)

    async def get_api_key_and_headers(self, model: Model) -> tuple[str | None, dict[str, str]]:
        """What requests to a model take along; nothing where there are no credentials."""
        return await self._registry.get_api_key_and_headers(model)

    async def refresh(self) -> None:
        """Ask every provider for its current models; those that fail keep what they had."""
        await self._registry.refresh()

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Ask a model beside the conversation, and iterate over its answer."""
        return self._link.session.models.ask(model, context, options or StreamOptions())

    stream_simple = stream

    async def complete(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.stream(model, context, options).result()

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """``pi.register_provider``."""
        return self._add_provider(provider, config)

    @property
    def _registry(self) -> ModelRegistry:
        return self._link.session.models.registry
