"""Providers that list their own models: these are asked for, not bundled.

Radius and gateways like it describe models as pi does; others as OpenAI's API lists them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.errors import ProviderUnavailable
from pi.ai.messages import Json
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore, models_from
from pi.ai.providers.built_in import WireProvider
from pi.ai.providers.discovered import LOCAL_COMPAT, ask_json, bearer
from pi.ai.providers.provider import Provider
from pi.ai.request import Access
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services

_CHAT = frozenset({"", "chat", "chat-completion", "language", "llm", "model", "text"})
"""What lists call a model that one can talk to; others make pictures, speech or vectors."""
_WINDOW = ("context_length", "context_window", "max_context_length", "max_model_len")
_OUTPUT = ("max_output_tokens", "max_completion_tokens")

ReadList: TypeAlias = Callable[[Any, str, str], tuple[Model, ...]]
"""``read(answer, base_url, provider)``: the models of an answer to ``GET /models``."""


class GatewayProvider(WireProvider):
    """Serves what the gateway says it serves; the last list is kept when it cannot be asked.

    ``own`` is what models.json says of it: changes, and models that are there without asking.
    """

    def __init__(
        self,
        row: Provider,
        store: ModelsStore,
        *,
        own: CustomProvider | None = None,
        api: str = "pi-messages",
        read: ReadList | None = None,
    ) -> None:
        self._store = store
        self._api = api
        self._read = read or pi_models
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
            raise ProviderUnavailable(
                f"{self.row.name} did not give its list of models.",
                hint="Check its key and its address, or name the models to use in models.json.",
            )
        self._found = self._read(answer, base, self.row.id)
        now = services.clock.now_ms()
        await asyncio.to_thread(self._store.write, self.row.id, self._found, checked_at=now)

    def _customised(self) -> tuple[Model, ...]:
        if self._found is None:
            self._found = self._stored()
        models = customised(self._own, self._found)
        return tuple(
            replace(model, api=model.api or self._api, base_url=model.base_url or self.row.base_url)
            for model in models
        )

    def _stored(self) -> tuple[Model, ...]:
        """What was found last, unless it was at another gateway."""
        models = self._store.read(self.row.id)
        return tuple(model for model in models if model.base_url.startswith(self.row.base_url))


def pi_models(answer: Any, base: str, provider: str) -> tuple[Model, ...]:
    """Models as pi describes them, in a list or below ``models`` or ``data``."""
    if isinstance(answer, dict):
        answer = answer.get("models") or answer.get("data")
    found = models_from(answer, api="pi-messages", baseUrl=base, provider=provider)
    return tuple(replace(model, provider=provider) for model in found)


def openai_models(answer: Any, base: str, provider: str) -> tuple[Model, ...]:
    """Models as OpenAI's API lists them: an id, and what else providers have added to it."""
    listed = answer.get("data") if isinstance(answer, dict) else answer
    return tuple(
        _openai_model(entry, base, provider)
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and _is_chat(entry)
    )


def _openai_model(entry: Json, base: str, provider: str) -> Model:
    model = Model(
        id=entry["id"],
        name=entry["id"],
        api="openai-completions",
        provider=provider,
        base_url=base,
        compat=LOCAL_COMPAT,
    )
    window, output = _number(entry, _WINDOW), _number(entry, _OUTPUT)
    if window:
        model = replace(model, context_window=window, max_tokens=min(window, model.max_tokens))
    return replace(model, max_tokens=min(output, model.context_window)) if output else model


def _is_chat(entry: Json) -> bool:
    kind = entry.get("type")
    return not isinstance(kind, str) or kind in _CHAT


def _number(entry: Json, names: tuple[str, ...]) -> int:
    numbers = (entry.get(name) for name in names)
    return next((n for n in numbers if isinstance(n, int) and n > 0), 0)
