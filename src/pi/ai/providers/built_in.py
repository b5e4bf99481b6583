"""A provider whose models speak known wires: a row of the table with its catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.models.model import Model
from pi.ai.providers.provider import Provider
from pi.ai.request import Access, Call
from pi.ai.stream import Flush
from pi.ai.wires import load_wire

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services


class WireProvider:
    """Serves the models that ``list_models`` gives, each over its own wire."""

    def __init__(self, row: Provider, list_models: Callable[[], tuple[Model, ...]]) -> None:
        self._row = row
        self._list_models = list_models

    @property
    def row(self) -> Provider:
        """Who it is."""
        return self._row

    def models(self) -> tuple[Model, ...]:
        """Its models."""
        return self._list_models()

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Nothing to ask: the list came with this version or from a file."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Ask over the model's wire."""
        await load_wire(call.model.api)(call, builder, flush, services)
