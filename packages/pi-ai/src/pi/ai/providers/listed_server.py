"""A server of models.json that names no models: it is asked for them.

Ollama and LM Studio have lists of their own that know more than OpenAI's: the size of the window,
and whether a model sees pictures.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.providers.discovered import list_lm_studio, list_ollama
from pi.ai.providers.wire_provider import (
    LOCAL_COMPAT,
    GatewayProvider,
    ask_json,
    bearer,
    openai_models,
)
from pi.ai.request import Access
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services

CHAT = "openai-completions"
ANTHROPIC = "anthropic-messages"


class ListedServer(GatewayProvider):
    """Serves the models that the server lists; keeps the last list if it is unavailable."""

    async def _fetch(
        self, services: Services, base: str, access: Access
    ) -> tuple[Model, ...] | None:
        api = self._own.api or CHAT
        headers = (*bearer(access), *access.headers.items())
        if api == ANTHROPIC:
            headers = (*headers, ("anthropic-version", "2023-06-01"))
            if access.api_key:
                headers = (*headers, ("x-api-key", access.api_key))
        root = base.removesuffix("/v1")

        async def get(path: str, body: Json | None = None) -> Any:
            return await ask_json(services, root + path, headers, body)

        if api == CHAT:
            own = await asyncio.gather(
                list_ollama(get, self._model), list_lm_studio(get, self._model)
            )
            if listed := next(filter(None, own), ()):
                return tuple(replace(model, base_url=f"{root}/v1") for model in listed)
        for url in dict.fromkeys((f"{base}/models", f"{root}/v1/models")):
            answer = await ask_json(services, url, headers)
            if answer is not None:
                # Requests go where the list is; for Anthropic's protocol "/v1" is added to them.
                address = base if api == ANTHROPIC else url.removesuffix("/models")
                return tuple(
                    replace(model, api=api, base_url=address)
                    for model in openai_models(answer, address, self.row.id)
                )
        return None

    def _model(
        self, id: str, *, window: Any = None, sees_images: bool = False, reasoning: bool = False
    ) -> Model:
        model = Model(
            id=id,
            name=id,
            api=CHAT,
            provider=self.row.id,
            reasoning=reasoning,
            input=("text", "image") if sees_images else ("text",),
            compat=LOCAL_COMPAT,
        )
        if not isinstance(window, int) or window <= 0:
            return model
        return replace(model, context_window=window, max_tokens=min(window, model.max_tokens))
