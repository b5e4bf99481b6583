"""Model servers on this machine: their models are found by asking, never configured.

Asking is quick and quiet: a server that is not there has no models, and that is no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.providers.built_in import WireProvider
from pi.ai.providers.provider import Provider
from pi.ai.request import Access
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services

LOCAL_COMPAT: Json = {
    "supportsStore": False,
    "supportsDeveloperRole": False,
    "supportsReasoningEffort": False,
    "maxTokensField": "max_tokens",
}
MOST_AT_ONCE = 50
"""Models of one server that are asked about one by one."""

Get: TypeAlias = Callable[..., Awaitable[Any]]
"""``await get(path, body=None)``: the JSON at that path of the server, or ``None``."""

List: TypeAlias = Callable[[Get, Callable[..., Model]], Awaitable[tuple[Model, ...]]]


class DiscoveredProvider(WireProvider):
    """A local server whose list of models is asked for by ``refresh``."""

    def __init__(self, row: Provider, list_models: List) -> None:
        self._found: tuple[Model, ...] = ()
        self._ask = list_models
        super().__init__(row, lambda: self._found)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Look whether the server is there and what it serves now."""
        base = ((access and access.base_url) or self.row.base_url).rstrip("/")
        headers = bearer(access)

        async def get(path: str, body: Json | None = None) -> Any:
            return await ask_json(services, base + path, headers, body)

        self._found = await self._ask(get, self._model(base))

    def _model(self, base: str) -> Callable[..., Model]:
        def make(
            id: str, *, window: Any = None, sees: bool = False, reasoning: bool = False
        ) -> Model:
            model = Model(
                id=id,
                name=id,
                api="openai-completions",
                provider=self.row.id,
                base_url=f"{base}/v1",
                reasoning=reasoning,
                input=("text", "image") if sees else ("text",),
                compat=LOCAL_COMPAT,
            )
            if not isinstance(window, int) or window <= 0:
                return model
            return replace(model, context_window=window, max_tokens=min(window, model.max_tokens))

        return make


def local_providers(environ: Mapping[str, str]) -> tuple[DiscoveredProvider, ...]:
    """The servers that are looked for, at the addresses that ``environ`` or custom names."""
    return tuple(
        DiscoveredProvider(replace(row, base_url=_address(environ.get(variable), row)), ask)
        for row, variable, ask in _SERVERS
    )


async def _list_ollama(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    listed = _items(await get("/api/tags"), "models")
    names = [str(entry["name"]) for entry in listed if entry.get("name")][:MOST_AT_ONCE]
    details = await asyncio.gather(*(get("/api/show", {"model": name}) for name in names))
    return tuple(
        _ollama_model(name, shown if isinstance(shown, dict) else {}, model)
        for name, shown in zip(names, details, strict=True)
    )


def _ollama_model(name: str, shown: Json, model: Callable[..., Model]) -> Model:
    facts = shown.get("model_info") or {}
    abilities = shown.get("capabilities") or ()
    window = next((v for key, v in facts.items() if key.endswith(".context_length")), None)
    return model(
        name,
        window=window,
        reasoning="thinking" in abilities,
        sees="vision" in abilities,
    )


async def _list_llama_cpp(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    listed, properties = await asyncio.gather(get("/v1/models"), get("/props"))
    properties = properties if isinstance(properties, dict) else {}
    window = (properties.get("default_generation_settings") or {}).get("n_ctx")
    sees = (properties.get("modalities") or {}).get("vision")
    return tuple(
        model(
            str(entry["id"]),
            window=window or (entry.get("meta") or {}).get("n_ctx_train"),
            sees=bool(sees),
        )
        for entry in _items(listed, "data")
        if entry.get("id")
    )


async def _list_lm_studio(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    return tuple(
        model(
            str(entry["id"]),
            window=entry.get("loaded_context_length") or entry.get("max_context_length"),
            sees=entry.get("type") == "vlm",
        )
        for entry in _items(await get("/api/v0/models"), "data")
        if entry.get("id") and entry.get("type") in ("llm", "vlm", None)
    )


async def _list_vllm(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    return tuple(
        model(str(entry["id"]), window=entry.get("max_model_len"))
        for entry in _items(await get("/v1/models"), "data")
        if entry.get("id")
    )


_SERVERS: tuple[tuple[Provider, str, List], ...] = (
    (
        Provider(id="ollama", name="Ollama", base_url="http://127.0.0.1:11434", needs_key=False),
        "OLLAMA_HOST",
        _list_ollama,
    ),
    (
        Provider(
            id="llama.cpp",
            name="llama.cpp",
            base_url="http://127.0.0.1:8080",
            key_variables=("LLAMA_API_KEY",),
            needs_key=False,
        ),
        "LLAMA_BASE_URL",
        _list_llama_cpp,
    ),
    (
        Provider(
            id="lm-studio", name="LM Studio", base_url="http://127.0.0.1:1234", needs_key=False
        ),
        "LMSTUDIO_BASE_URL",
        _list_lm_studio,
    ),
    (
        Provider(
            id="vllm",
            name="vLLM",
            base_url="http://127.0.0.1:8000",
            key_variables=("VLLM_API_KEY",),
            needs_key=False,
        ),
        "VLLM_BASE_URL",
        _list_vllm,
    ),
)


def _address(given: str | None, row: Provider) -> str:
    """A base URL without ``/v1``, from what people put into such variables."""
    if not given:
        return row.base_url
    url = given if "://" in given else f"http://{given}"
    url = url.replace("://0.0.0.0", "://127.0.0.1")  # an address to listen on, not to call
    return url.rstrip("/").removesuffix("/v1")


def bearer(access: Access | None) -> tuple[tuple[str, str], ...]:
    """The header that carries a key, where there is one."""
    if access is None or access.api_key is None:
        return ()
    return (("Authorization", f"Bearer {access.api_key}"),)


def _items(answer: Any, key: str) -> list[Json]:
    entries = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


async def ask_json(
    services: Services,
    url: str,
    headers: tuple[tuple[str, str], ...],
    body: Json | None = None,
) -> Any:
    """The JSON at ``url``; ``None`` when it cannot be had, for whatever reason."""
    # Here, not above: no HTTP client before the first request.
    from pi.ai.http.errors import HttpError
    from pi.ai.http.request import HttpRequest
    from pi.ai.http.timeouts import Timeouts
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
