"""A gateway that lists its own models: they are asked for, not bundled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pi.ai.errors import ProviderUnavailable
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore, models_from
from pi.ai.providers.built_in import WireProvider
from pi.ai.providers.discovered import ask_json, bearer
from pi.ai.providers.provider import Provider
from pi.ai.request import Access
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class GatewayProvider(WireProvider):
    """Serves what the gateway says it serves; the last list is kept when it cannot be asked.

    ``own`` is what models.json says of it: changes, and models that are there without asking.
    """

    def __init__(
        self, row: Provider, store: ModelsStore, *, own: CustomProvider | None = None
    ) -> None:
        self._store = store
        self._found: tuple[Model, ...] | None = None
        # Its address is in every model already, completed.
        self._own = replace(own or CustomProvider(id=row.id), base_url=None)
        super().__init__(replace(row, lists_models=True), self._customised)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Ask the gateway; without a login there is nothing to ask."""
        if access is None:
            return
        base = (access.base_url or self.row.base_url).rstrip("/")
        answer = await ask_json(services, f"{base}/models", bearer(access))
        if answer is None:
            raise ProviderUnavailable(f"{self.row.name} did not give its list of models.")
        self._found = self._understood(answer, base)
        now = services.clock.now_ms()
        await asyncio.to_thread(self._store.write, self.row.id, self._found, checked_at=now)

    def _customised(self) -> tuple[Model, ...]:
        if self._found is None:
            self._found = self._stored()
        return customised(self._own, self._found)

    def _stored(self) -> tuple[Model, ...]:
        """What was found last, unless it was at another gateway."""
        models = self._store.read(self.row.id)
        return tuple(model for model in models if model.base_url.startswith(self.row.base_url))

    def _understood(self, answer: Any, base: str) -> tuple[Model, ...]:
        if isinstance(answer, dict):
            answer = answer.get("models") or answer.get("data")
        found = models_from(answer, api="pi-messages", baseUrl=base, provider=self.row.id)
        return tuple(replace(model, provider=self.row.id) for model in found)
