"""Providers whose models use the bundled wires, and gateways that list their own models.

Radius and similar gateways describe models as pi does; others as OpenAI's API lists them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderUnavailable
from pi.ai.event_stream import Flush
from pi.ai.messages import Image, Json, Message, ToolResultMessage, UserMessage
from pi.ai.models.catalog import bundled_models
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore, models_from
from pi.ai.provider import Provider
from pi.ai.request import Access, Call
from pi.ai.wires import load_wire
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


LOCAL_COMPAT: Json = {
    "supportsStore": False,
    "supportsDeveloperRole": False,
    "supportsReasoningEffort": False,
    "maxTokensField": "max_tokens",
}
_CHAT = frozenset({"", "chat", "chat-completion", "language", "llm", "model", "text"})
"""Types of chat models in lists; others generate images, speech or vectors."""
_WINDOW = ("context_length", "context_window", "max_context_length", "max_model_len")
_OUTPUT = ("max_output_tokens", "max_completion_tokens")

ReadList: TypeAlias = Callable[[Any, str, str], tuple[Model, ...]]
"""``read(answer, base_url, provider)``: parses a response of ``GET /models``."""


class WireProvider:
    """Serves the models that ``list_models`` returns, each over its own wire."""

    def __init__(self, row: Provider, list_models: Callable[[], tuple[Model, ...]]) -> None:
        self.row = row
        """Its row in the provider table."""
        self._list_models = list_models

    def models(self) -> tuple[Model, ...]:
        """Its models."""
        return self._list_models()

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Do nothing: the list is bundled or from a file."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request over the model's wire."""
        if (session := call.options.session_id) and call.options.on_payload is None:
            call = replace(call, kept=services.kept.of(session, call.model.api))
        await load_wire(call.model.api)(call, builder, flush, services)


class CopilotProvider(WireProvider):
    """Adds Copilot's headers: who started the request, and whether it contains pictures."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request over the model's wire."""
        headers = {**request_headers(call.messages), **call.access.headers}
        if call.access.api_key is not None:
            # A bearer token on every wire, also on those with a key header of their own.
            headers.setdefault("Authorization", f"Bearer {call.access.api_key}")
        access = replace(call.access, headers=headers)
        await super().answer(replace(call, access=access), builder, flush, services)


class AzureProvider(WireProvider):
    """Sends Chat Completions to the user's own resource, too, as the Responses wire does."""

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request over the model's wire."""
        if call.model.api == "openai-completions":
            from pi.ai.wire_support import azure  # lazy: only with a request

            call = azure.chat_call(call, services.environ)
        await super().answer(call, builder, flush, services)


class GatewayProvider(WireProvider):
    """Serves the models that the gateway lists; keeps the last list if it is unavailable.

    ``own`` is its entry in models.json: overrides, and models that need no query.
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
        self._fetched_models: tuple[Model, ...] | None = None
        # Every model already contains the completed URL.
        self._own = replace(own or CustomProvider(id=row.id), base_url=None)
        super().__init__(replace(row, lists_models=True), self._customised)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Query the gateway; does nothing without a login."""
        if access is None:
            return
        base = (access.base_url or self.row.base_url).rstrip("/")
        models = await self._fetch(services, base, access)
        if models is None:
            raise ProviderUnavailable(
                f"{self.row.name} did not give its list of models.",
                hint="Check its key and its address, or name the models to use in models.json.",
            )
        self._fetched_models = models
        now = services.clock.now_ms()
        await asyncio.to_thread(
            self._store.write, self.row.id, self._fetched_models, checked_at=now
        )

    async def _fetch(
        self, services: Services, base: str, access: Access
    ) -> tuple[Model, ...] | None:
        """Query the server at ``base``; ``None`` if it gives no list."""
        answer = await ask_json(services, f"{base}/models", bearer(access))
        return None if answer is None else self._read(answer, base, self.row.id)

    def _customised(self) -> tuple[Model, ...]:
        if self._fetched_models is None:
            self._fetched_models = self._stored()
        models = customised(self._own, self._fetched_models)
        return tuple(
            replace(model, api=model.api or self._api, base_url=model.base_url or self.row.base_url)
            for model in models
        )

    def _stored(self) -> tuple[Model, ...]:
        """Return the stored list, or else the bundled one; none of another gateway."""
        for models in (self._store.read(self.row.id), bundled_models(self.row.id)):
            base = self.row.base_url.rstrip("/")
            if own := tuple(model for model in models if model.base_url.startswith(base)):
                return own
        return ()


def request_headers(messages: Sequence[Message]) -> dict[str, str]:
    """Return the headers that depend on the conversation."""
    is_from_user = bool(messages) and isinstance(messages[-1], UserMessage)
    headers = {
        "Openai-Intent": "conversation-edits",
        "X-Initiator": "user" if is_from_user else "agent",
    }
    if any(_holds_image(message) for message in messages):
        headers["Copilot-Vision-Request"] = "true"
    return headers


def _holds_image(message: Message) -> bool:
    return isinstance(message, UserMessage | ToolResultMessage) and any(
        isinstance(block, Image) for block in message.content
    )


def pi_models(answer: Any, base: str, provider: str) -> tuple[Model, ...]:
    """Parse models in pi's format, in a list or below ``models`` or ``data``."""
    if isinstance(answer, dict):
        answer = answer.get("models") or answer.get("data")
    models = models_from(answer, api="pi-messages", baseUrl=base, provider=provider)
    return tuple(replace(model, provider=provider) for model in models)


def openai_models(answer: Any, base: str, provider: str) -> tuple[Model, ...]:
    """Parse models in OpenAI's format: an id, and fields that providers have added."""
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


def bearer(access: Access | None) -> tuple[tuple[str, str], ...]:
    """Return the header with the key, if there is one."""
    if access is None or access.api_key is None:
        return ()
    return (("Authorization", f"Bearer {access.api_key}"),)


async def ask_json(
    services: Services,
    url: str,
    headers: tuple[tuple[str, str], ...],
    body: Json | None = None,
) -> Any:
    """Return the JSON at ``url``; ``None`` for any failure."""
    # Lazy: no HTTP client before the first request.
    from pi.ai.http.errors import HttpError
    from pi.ai.http.request import HttpRequest, Timeouts
    from pi.ai.json_text import json_bytes

    request = HttpRequest(
        method="GET" if body is None else "POST",
        url=url,
        headers=headers if body is None else (*headers, ("Content-Type", "application/json")),
        body=b"" if body is None else json_bytes(body),
        timeouts=Timeouts(connect=1, first_byte=3, idle=3),
    )
    try:
        response = await services.http.request(request, limit=4 * 1024 * 1024)
        return response.json() if response.status == 200 else None
    except HttpError:
        return None
