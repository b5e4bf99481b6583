"""Local model servers, whose models are queried instead of bundled.

Probing is quick and silent: a missing server has no models and is not an error.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.chosen_servers import (
    ChosenServers,
    ServerNotChosen,
    ServerStatus,
    address_here,
)
from pi.ai.providers.socket_owner import ServerAddress
from pi.ai.providers.wire_provider import LOCAL_COMPAT, WireProvider, ask_json, bearer
from pi.ai.request import Access, Call
from pi.base.records import Record, replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services


MAX_QUERIED_MODELS = 50
"""Maximum number of models of one server that are queried one by one."""

Get: TypeAlias = Callable[..., Awaitable[Any]]
"""``await get(path, body=None)``: returns the JSON at that path of the server, or ``None``."""

List: TypeAlias = Callable[[Get, Callable[..., Model]], Awaitable[tuple[Model, ...]]]


class DiscoveredProvider(WireProvider):
    """A local server whose models are queried by ``refresh``.

    ``own`` is its entry in models.json: overrides, and models that need no query. With ``chosen``,
    a server on this machine is used only after the user has chosen it. One whose URL or models are
    in models.json needs no other choice, and neither does one on another machine.
    """

    def __init__(
        self,
        row: Provider,
        list_models: List,
        *,
        window: int = 0,
        own: CustomProvider | None = None,
        chosen: ChosenServers | None = None,
    ) -> None:
        self._fetched_models: tuple[Model, ...] = ()
        self._window = window
        """The user's value for the context window; 0 if unset."""
        self._ask = list_models
        self._own = own or CustomProvider(id=row.id)
        is_configured = bool(self._own.models or self._own.base_url)
        self._chosen = None if is_configured else chosen
        self._status: ServerStatus | None = None
        super().__init__(row, lambda: customised(self._own, self._fetched_models))

    def server_status(self) -> ServerStatus | None:
        """Whether the server may be used, as last known; ``None`` if no choice is needed."""
        return self._status

    async def choose(self, model_id: str = "", *, anew: bool = False) -> None:
        """Allow the server from now on.

        Raises ``ServerNotChosen`` if its owner has changed since the last choice, unless ``anew``.
        """
        if (guarded := self._guarded()) is None:
            return
        chosen, address = guarded
        before = await chosen.server_status(self.row.id, address)
        if before.state == "other owner" and not anew:
            self._status = before
            raise ServerNotChosen(before.refusal)
        if before.state == "chosen" and before.chosen and model_id in ("", before.chosen.model):
            self._status = before
        else:
            self._status = await chosen.choose(self.row.id, address, model=model_id)

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request if the server may be used; its owner is checked for every request."""
        if (guarded := self._guarded(call.base_url)) is not None:
            chosen, address = guarded
            self._status = await chosen.server_status(self.row.id, address)
            if self._status.state != "chosen":
                raise ServerNotChosen(self._status.refusal)
        await super().answer(call, builder, flush, services)

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Check whether the server is running and query its models."""
        base = ((access and access.base_url) or self.row.base_url).rstrip("/")
        headers = bearer(access)
        self._status = None
        if (guarded := self._guarded(base)) is not None:
            chosen, address = guarded
            self._status = await chosen.server_status(self.row.id, address)
            if self._status.state != "chosen" and self._status.owner.uid != _own_uid():
                # A process of the same user can read the key anyway; others do not get it without a
                # choice.
                headers = ()

        async def get(path: str, body: Json | None = None) -> Any:
            return await ask_json(services, base + path, headers, body)

        self._fetched_models = await self._ask(get, self._model(base))

    def _guarded(self, url: str = "") -> tuple[ChosenServers, ServerAddress] | None:
        """Return the choices and the address, if the server needs to be chosen."""
        address = address_here(url or self.row.base_url)
        return None if self._chosen is None or address is None else (self._chosen, address)

    def _model(self, base: str) -> Callable[..., Model]:
        def make(
            id: str, *, window: Any = None, sees_images: bool = False, reasoning: bool = False
        ) -> Model:
            model = Model(
                id=id,
                name=id,
                api="openai-completions",
                provider=self.row.id,
                base_url=f"{base}/v1",
                reasoning=reasoning,
                input=("text", "image") if sees_images else ("text",),
                compat=LOCAL_COMPAT,
            )
            window = self._window or window
            if not isinstance(window, int) or window <= 0:
                return model
            return replace(model, context_window=window, max_tokens=min(window, model.max_tokens))

        return make


def _own_uid() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


def local_providers(
    environ: Mapping[str, str],
    own: Mapping[str, CustomProvider] | None = None,
    chosen: ChosenServers | None = None,
) -> tuple[DiscoveredProvider, ...]:
    """Create the providers of the known local servers.

    Each is at the URL from ``own``, by provider, or else from ``environ``. With ``chosen``, those
    of this machine are used only after they were chosen.
    """
    changes = own or {}
    return tuple(
        _provider(server, environ, changes.get(server.row.id), chosen) for server in _SERVERS
    )


def _provider(
    server: _Server,
    environ: Mapping[str, str],
    own: CustomProvider | None,
    chosen: ChosenServers | None,
) -> DiscoveredProvider:
    address = next((environ[name] for name in server.addresses if environ.get(name)), None)
    row = server.row
    if own is not None:
        address, row = own.base_url or address, replace(row, name=own.name or row.name)
    row = replace(row, base_url=_address(address, row))
    window = environ.get(server.window, "")
    return DiscoveredProvider(
        row,
        server.list_models,
        window=int(window) if window.isdecimal() else 0,
        own=own,
        chosen=chosen,
    )


async def list_ollama(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    """Return the models that Ollama has."""
    listed = _items(await get("/api/tags"), "models")
    names = [str(entry["name"]) for entry in listed if entry.get("name")][:MAX_QUERIED_MODELS]
    details = await asyncio.gather(*(get("/api/show", {"model": name}) for name in names))
    return tuple(
        _ollama_model(name, _object(detail), model)
        for name, detail in zip(names, details, strict=True)
    )


def _ollama_model(name: str, details: Json, model: Callable[..., Model]) -> Model:
    facts = _object(details.get("model_info"))
    listed = details.get("capabilities")
    abilities = listed if isinstance(listed, list) else ()
    window = next((v for key, v in facts.items() if key.endswith(".context_length")), None)
    return model(
        name,
        window=window,
        reasoning="thinking" in abilities,
        sees_images="vision" in abilities,
    )


async def _list_llama_cpp(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    listed, properties = await asyncio.gather(get("/v1/models"), get("/props"))
    properties = _object(properties)
    window = _object(properties.get("default_generation_settings")).get("n_ctx")
    sees_images = _object(properties.get("modalities")).get("vision")
    return tuple(
        model(
            str(entry["id"]),
            window=window or _object(entry.get("meta")).get("n_ctx_train"),
            sees_images=bool(sees_images),
        )
        for entry in _items(listed, "data")
        if entry.get("id")
    )


async def list_lm_studio(get: Get, model: Callable[..., Model]) -> tuple[Model, ...]:
    """Return the chat models of LM Studio."""
    return tuple(
        model(
            str(entry["id"]),
            window=entry.get("loaded_context_length") or entry.get("max_context_length"),
            sees_images=entry.get("type") == "vlm",
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


class _Server(Record):
    """One kind of server."""

    row: Provider
    addresses: tuple[str, ...]
    """Variables with its address; the first that is set is used."""
    list_models: List
    window: str = ""
    """Variable with its context window, if the server does not report it."""


_SERVERS = (
    _Server(
        row=Provider(
            id="ollama",
            name="Ollama",
            base_url="http://127.0.0.1:11434",
            key_variables=("OLLAMA_API_KEY",),
            needs_key=False,
        ),
        addresses=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        list_models=list_ollama,
        window="OLLAMA_CONTEXT_LENGTH",
    ),
    _Server(
        row=Provider(
            id="llama.cpp",
            name="llama.cpp",
            base_url="http://127.0.0.1:8080",
            key_variables=("LLAMA_API_KEY", "LLAMA_CPP_API_KEY"),
            needs_key=False,
        ),
        addresses=("LLAMA_BASE_URL", "LLAMA_CPP_BASE_URL"),
        list_models=_list_llama_cpp,
    ),
    _Server(
        row=Provider(
            id="lm-studio",
            name="LM Studio",
            base_url="http://127.0.0.1:1234",
            key_variables=("LM_STUDIO_API_KEY",),
            needs_key=False,
        ),
        addresses=("LM_STUDIO_BASE_URL", "LMSTUDIO_BASE_URL"),
        list_models=list_lm_studio,
    ),
    _Server(
        row=Provider(
            id="vllm",
            name="vLLM",
            base_url="http://127.0.0.1:8000",
            key_variables=("VLLM_API_KEY",),
            needs_key=False,
        ),
        addresses=("VLLM_BASE_URL",),
        list_models=_list_vllm,
    ),
)

SERVER_ROWS: tuple[Provider, ...] = tuple(server.row for server in _SERVERS)
"""The known servers, at their default addresses."""


def _address(value: str | None, row: Provider) -> str:
    """Return the base URL without ``/v1`` for the value of an address variable."""
    if not value:
        return row.base_url
    url = value.rstrip("/").removesuffix("/v1")
    if "://" not in url:
        host, slash, path = url.partition("/")
        usual_port = row.base_url.rpartition(":")[2]
        port = "" if re.search(r":\d+$", host) else f":{usual_port}"
        url = f"http://{host}{port}{slash}{path}"
    # An address to listen on, which cannot be connected to.
    return re.sub(r"://(?:0\.0\.0\.0)?(?=:)", "://127.0.0.1", url)


def _object(value: Any) -> Json:
    """Return ``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _items(answer: Any, key: str) -> list[Json]:
    entries = _object(answer).get(key)
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]
