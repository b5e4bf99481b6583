"""Services for one extension: models, credentials, settings, HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from pi.agent.policy import Request
from pi.ai.auth.config_values import expand, remember_used
from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.messages import AssistantMessage, Context, Message, UserMessage, blocks
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.records import replace
from pi.coding.bus import At
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.contributions.credentials import (
    AuthSource,
    AuthSources,
    FindKey,
    OAuthConfig,
    oauth_from,
)
from pi.coding.extension_host.contributions.providers import Service
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Registration, SessionLink
from pi.coding.models.registry import Resolver
from pi.coding.settings.settings import value_at

if TYPE_CHECKING:
    from pi.ai.http.request import HttpRequest
    from pi.ai.http.response import HttpResponse, ResponseStream


Asked: TypeAlias = str | Sequence[Message] | Request
"""A question: text, messages, or a whole request as ``ctx.next_request()`` returns it."""


class ExtensionModels:
    """Model requests outside the conversation. Model wraps of the session apply to them."""

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._link = instance.link

    def resolve(self, name: str) -> Model | None:
        """The model that ``name`` refers to."""
        choice = self._link.session.models.registry.resolve(name)
        return None if choice is None else choice.model

    def add_resolver(self, resolver: Resolver, *, at: At = "normal") -> Registration:
        """Let ``resolver(name)`` resolve model names: to a model, another name, or ``None``.

        The first result wins, also for ``--model``; the usual patterns come last.
        """
        return self._instance.add_row(self._instance.state.registries.resolvers, resolver, at)

    def available(self) -> tuple[Model, ...]:
        """Every model that has credentials."""
        return self._link.session.models.registry.get_available()

    def ask(
        self,
        question: Asked,
        *,
        model: Model | str | None = None,
        system: str = "",
        options: StreamOptions | None = None,
    ) -> EventStream:
        """Send a request and iterate over the answer; the default is the session's model."""
        request = question if isinstance(question, Request) else None
        options = options or StreamOptions()
        if request is not None:
            options = replace(options, reasoning=request.thinking, tool_choice=request.tool_choice)
        context = Context(messages=self._messages(question))
        if system:
            context = replace(context, system_prompt=system)
        asked = self._asked(model, request)
        name = self._link.scope.name
        return self._link.session.models.ask(asked, context, options, extension=name)

    async def complete(self, question: Asked, **how: Any) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.ask(question, **how).result()

    def _messages(self, question: Asked) -> tuple[Message, ...]:
        if isinstance(question, Request):
            return tuple(question.messages)
        if isinstance(question, str):
            now_ms = self._link.scope.clock.now_ms()
            return (UserMessage(content=blocks(question), timestamp=now_ms),)
        return tuple(question)

    def _asked(self, model: Model | str | None, request: Request | None) -> Model:
        """The named model, else the model of the request, else the current one."""
        if model is None:
            found = self._link.session.models.current if request is None else request.model
        else:
            found = self.resolve(model) if isinstance(model, str) else model
        if found is None:
            raise ExtensionError(
                f"No model available: {model or 'none is selected'}.",
                hint="pi.models.available() lists the models that have credentials.",
            )
        return found


class ExtensionAuth:
    """API keys of providers and other services; extensions can add sources and logins."""

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._sources = AuthSources(instance.state.registries.auth_sources, instance.state.failed)

    async def get(self, name: str, env: Sequence[str] = ()) -> str | None:
        """The key for ``name``: from a source, the store, or the first of these variables."""
        session = self._instance.link.session
        key = await self._sources.key(name)
        if key is None and session.models.registry.models.get_provider(name) is not None:
            access = await session.models.registry.models.access(name)
            key = None if access is None else access.api_key
        if key is None:
            stored = await session.accounts.storage.get(name)
            if isinstance(stored, ApiKeyCredential) and stored.key:
                return await expand(
                    stored.key, environ=session.workspace.environ, cwd=session.workspace.cwd
                )
        variables = session.workspace.environ
        key = key or next((variables[one] for one in env if variables.get(one)), None)
        remember_used(key)
        return key

    async def set(self, name: str, key: str) -> None:
        """Store an API key."""
        credentials = self._instance.link.session.accounts.storage
        await credentials.set(name, ApiKeyCredential(key=key))

    def add_source(
        self, find: FindKey, *, names: Collection[str] | None = None, at: At = "normal"
    ) -> Registration:
        """Call ``find(name)`` for keys before the store is read; the first key wins.

        ``names`` are the providers it has keys for: their models can be selected without calling
        it. If it raises ``AuthUnavailable``, no other source is used.
        """
        source = AuthSource(find=find, names=None if names is None else frozenset(names))
        return self._instance.add_row(self._instance.state.registries.auth_sources, source, at)

    def add_login(
        self, name: str, *, label: str = "", oauth: OAuthConfig | Mapping[str, Any] | None = None
    ) -> Registration:
        """Let ``/login name`` store an API key or, with ``oauth``, sign in to a service."""
        flow = None if oauth is None else oauth_from(oauth, name)
        service = Service(name, label or (flow.name if flow else name), flow)
        return self._instance.keep(
            self._instance.state.providers.add(service, self._instance.owner)
        )


T = TypeVar("T")


class ExtensionSettings:
    """Settings of an extension, under its own name in ``settings.json``."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link
        self._declared: dict[str, tuple[Any, Any, str]] = {}

    def declare(self, key: str, kind: type[T], default: T, help: str = "") -> None:
        """Declare the setting ``key``, dotted as in the file."""
        self._declared[key] = (kind, default, help)

    def get(self, key: str) -> Any:
        """The value; the default if it is missing or of another type than declared."""
        kind, default, _ = self._declared.get(key, (Any, None, ""))
        raw = value_at(self._link.session.workspace.settings.raw, key.split("."))
        if raw is None:
            return default
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            return default

    def on_change(self, listener: Callable[[], None]) -> Registration:
        """Call ``listener`` after every change of any setting."""
        settings = self._link.session.workspace.settings
        return self._link.scope.keep(Registration(settings.on_change(listener)))

    @property
    def declared(self) -> Mapping[str, tuple[Any, Any, str]]:
        """Declared settings: type, default and help by key."""
        return self._declared


class ExtensionHttp:
    """HTTP with the client of pi: proxy, certificates, timeouts."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    async def request(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> HttpResponse:
        """Send a request and read the whole response. Raises ``HttpError`` if there is none."""
        request = _request(url, method, headers, body)
        return await self._link.session.http().request(request)

    def stream(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """``async with`` a response as it arrives; iterating over it yields bytes."""
        request = _request(url, method, headers, body)
        return self._link.session.http().stream(request)


def _request(url: str, method: str, headers: Mapping[str, str] | None, body: bytes) -> HttpRequest:
    # Deferred import: the HTTP client is loaded with the first request.
    from pi.ai.http.request import HttpRequest

    return HttpRequest(method=method, url=url, headers=tuple((headers or {}).items()), body=body)
