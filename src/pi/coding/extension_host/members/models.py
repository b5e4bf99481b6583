"""Who answers: providers, the model, how much it thinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.models_collection import ModelProvider
from pi.coding.extension_host import registering
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.registration import Registration


class ModelMembers(ApiMembers):
    """Brings providers, and chooses who answers."""

    def register_provider(
        self, provider: ModelProvider | str, config: Mapping[str, Any] | None = None
    ) -> Registration:
        """Have one more provider: an object, or a name and a ``ProviderConfig`` as a dict."""
        return registering.add_provider(self._instance, provider, config)

    def unregister_provider(self, name: str) -> None:
        """Have a provider of this extension no longer."""
        self._shelves.providers.remove(name, self._instance.owner)

    async def set_model(self, model: Model) -> bool:
        """Have another model answer; False if there are no credentials for it."""
        return await self._link.session.models.use(model)

    def get_thinking_level(self) -> ThinkingLevel:
        """How much the model thinks."""
        return self._link.session.models.thinking_level

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Have the model think that much."""
        await self._link.session.models.think(level)
