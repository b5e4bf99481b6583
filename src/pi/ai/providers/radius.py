"""A gateway that lists its own models: they are asked for, not bundled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from pi.ai.errors import ProviderUnavailable
from pi.ai.models.model import Model
from pi.ai.providers.built_in import WireProvider
from pi.ai.providers.discovered import ask_json, bearer
from pi.ai.providers.provider import Provider
from pi.ai.request import Access

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class GatewayProvider(WireProvider):
    """Serves what the gateway says it serves; the last list is kept when it cannot be asked."""

    def __init__(self, row: Provider) -> None:
        self._found: tuple[Model, ...] = ()
        super().__init__(row, lambda: self._found)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Ask the gateway; without a login there is nothing to ask."""
        if access is None:
            return
        base = (access.base_url or self.row.base_url).rstrip("/")
        answer = await ask_json(services, f"{base}/models", bearer(access))
        if answer is None:
            raise ProviderUnavailable(f"{self.row.name} did not give its list of models.")
        self._found = tuple(self._understood(answer, base))

    def _understood(self, answer: Any, base: str) -> Iterator[Model]:
        entries = answer
        if isinstance(answer, dict):
            entries = answer.get("models") or answer.get("data")
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict) or not entry.get("id"):
                continue
            known = {"name": entry["id"], "api": "pi-messages", "baseUrl": base}
            try:
                yield msgspec.convert({**known, **entry, "provider": self.row.id}, Model)
            except msgspec.ValidationError:
                continue  # a model of a newer kind than this version knows
