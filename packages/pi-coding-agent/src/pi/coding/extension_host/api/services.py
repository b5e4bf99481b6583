"""Services for one extension: models, settings, HTTP, image generation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec

from pi.agent.policy import Request
from pi.ai.event_stream import EventStream
from pi.ai.messages import AssistantMessage, Context, Message, Usage, UserMessage, blocks
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import THINKING_LEVELS, ThinkingLevel
from pi.ai.provider import Provider
from pi.ai.request import Access, StreamOptions
from pi.base.records import replace
from pi.coding.bus import At
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.errors import ExtensionError, check_options, check_value
from pi.coding.extension_host.scope import Registration, SessionLink
from pi.coding.models.registry import ResolvedModel, Resolver
from pi.coding.port.queries import ChooseNext
from pi.coding.port.results import ModelNotes
from pi.coding.session.statistics import ModelCall, model_call_entry
from pi.coding.settings.layers import value_at
from pi.coding.settings.reading import ignored

if TYPE_CHECKING:
    from pi.ai.http.addresses import AddressPolicy
    from pi.ai.http.client import HttpClient
    from pi.ai.http.exchange import HttpResponse, ResponseStream
    from pi.ai.http.request import HttpRequest, Timeouts
    from pi.ai.images.collection import ImagesModels
    from pi.ai.images.formats import ImageModel, ImageRequest, ImageResult
    from pi.ai.models.model import Model
    from pi.ai.wire_support.exchange import Services
    from pi.coding.extension_host.api.auth import ExtensionAuth
    from pi.coding.extension_host.scope import SessionLink
    from pi.coding.models.roles import RoleResolution, RoleSettings


Question: TypeAlias = str | Sequence[Message] | Request
"""Text, messages, or a whole request as ``ctx.next_request()`` returns it."""


class ExtensionModels:
    """Model requests outside the conversation. Model wraps of the session apply to them."""

    def __init__(self, instance: LoadedExtension) -> None:
        self._instance = instance
        self._link = instance.link

    def resolve(self, name: str) -> Model | None:
        """The model that ``name`` refers to, or ``None``."""
        choice = self._link.registry.resolve(name)
        return None if choice is None else choice.model

    def add_resolver(self, resolver: Resolver, *, at: At = "normal") -> Registration:
        """Resolve model names with ``resolver(name)``: to a model, another name, or ``None``.

        The first result wins, also for ``--model``; pi's own patterns are tried last.
        """
        return self._instance.add_row(self._instance.state.registries.resolvers, resolver, at)

    async def use(self, model: Model, thinking: ThinkingLevel | None = None) -> bool:
        """Switch the session to a model. Returns False if it has no credentials."""
        if thinking is not None:
            check_value("a thinking level", thinking, THINKING_LEVELS)
        models = self._link.session.models
        if not models.registry.has_auth(model.provider):
            return False
        await models.use(model, thinking=thinking, source="set")
        return True

    @property
    def roles(self) -> RoleSettings:
        """The model roles from settings, flags such as ``--smol``, and environment variables."""
        # Deferred import: few sessions use roles.
        from pi.coding.models.roles import configured_roles

        workspace, flags = self._link.workspace, self._instance.state.flags
        return configured_roles(workspace.settings.raw, flags, workspace.environ)

    async def for_role(
        self, role: str, *, thinking: ThinkingLevel | None = None, current: bool = True
    ) -> RoleResolution:
        """The usable models for a role, best first; ``current`` adds the session's model last.

        Providers with dynamic model lists that were not queried yet are queried if the role needs
        one of them.
        """
        from pi.coding.models.roles import resolve_role  # deferred, as above

        models = self._link.session.models
        registry, session = models.registry, None
        if current and models.current is not None:
            session = ResolvedModel(model=models.current, thinking=models.thinking_level)
        resolution = resolve_role(
            role, self.roles, registry.resolve, current=session, thinking=thinking
        )
        if resolution.unknown and any(
            map(registry.is_undiscovered, _providers(resolution.unknown))
        ):
            await registry.discover_local()
            resolution = resolve_role(
                role, self.roles, registry.resolve, current=session, thinking=thinking
            )
        for choice in resolution.models:
            status = registry.server_status(choice.model.provider)
            if status is not None and status.state == "new":  # the settings name it
                await registry.choose_server(choice.model)
        usable = (
            choice for choice in resolution.models if registry.is_usable(choice.model.provider)
        )
        return replace(resolution, models=tuple(usable))

    def set_cycle(self, choose: ChooseNext) -> Registration:
        """Call ``choose(step)`` for the next model when the user cycles; ``None`` for no change."""
        return self._link.scope.register(self._link.session.models.set_cycle(choose))

    def add_notes(self, notes: Callable[[], ModelNotes]) -> Registration:
        """Add badges to the lists of models, and move the most used models to the top."""
        return self._link.scope.register(self._link.session.models.add_notes(notes))

    def available(self) -> tuple[Model, ...]:
        """Every model that has credentials."""
        return self._link.session.models.registry.get_available()

    def ask(
        self,
        question: Question,
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
        target = self._target(model, request)
        name = self._link.scope.name
        return self._link.session.models.ask(target, context, options, extension=name)

    async def complete(self, question: Question, **arguments: Any) -> AssistantMessage:
        """The whole answer; failures are in its ``stop_reason``."""
        return await self.ask(question, **arguments).result()

    def record(self, usage: Usage, model: Model) -> None:
        """Add the usage of requests that a nested session made to the totals of this session.

        Requests of ``ask`` and ``complete`` are recorded automatically.
        """
        if not usage.total_tokens and not usage.cost.total:
            return
        call = ModelCall(
            extension=self._link.scope.name, provider=model.provider, model=model.id, usage=usage
        )
        session = self._link.session
        _, event = session.entries.append_now(model_call_entry(call))
        if event is not None:
            self._link.scope.spawn(session.emit(event), name="model usage")

    def _messages(self, question: Question) -> tuple[Message, ...]:
        if isinstance(question, Request):
            return tuple(question.messages)
        if isinstance(question, str):
            now_ms = self._link.scope.clock.now_ms()
            return (UserMessage(content=blocks(question), timestamp=now_ms),)
        return tuple(question)

    def _target(self, model: Model | str | None, request: Request | None) -> Model:
        """The named model, else the model of the request, else the current one."""
        if model is None:
            target = self._link.session.models.current if request is None else request.model
        else:
            target = self.resolve(model) if isinstance(model, str) else model
        if target is None:
            raise ExtensionError(
                f"No model available: {model or 'none is selected'}.",
                hint="pi.models.available() lists the models that have credentials.",
            )
        return target


def _providers(patterns: Sequence[str]) -> set[str]:
    return {pattern.partition("/")[0] for pattern in patterns}


T = TypeVar("T")


class ExtensionSettings:
    """Settings of an extension, under its own name in ``settings.json``."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link
        self._declared: dict[str, tuple[Any, Any, str]] = {}

    def declare(self, key: str, kind: type[T], default: T, help: str = "") -> None:
        """Declare the setting ``key``, dotted as in the file."""
        self._declared[key] = (kind, default, help)

    def declare_all(self, rows: Iterable[tuple[str, Any, Any, str]]) -> None:
        """Declare several settings: key, type, default and help of each."""
        for key, kind, default, help in rows:
            self.declare(key, kind, default, help)

    def get(self, key: str, *, with_project: bool = True) -> Any:
        """The value; the default if it is missing or of another type than declared.

        Without ``with_project`` the file of the project is ignored: for values that decide which
        programs are executed.
        """
        kind, default, _ = self._declared.get(key, (Any, None, ""))
        settings, path = self._link.workspace.settings, key.split(".")
        raw = value_at(settings.raw, path) if with_project else settings.without_project(path)
        if raw is None:
            return default
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError as error:
            settings.warn(ignored(key, error, kind, raw))
            return default

    def get_session(self, key: str) -> Any:
        """The value that was set for this session only, as JSON, or ``None``."""
        return self._link.workspace.settings.override_at(key.split("."))

    def get_project(self, key: str) -> Any:
        """The value in the settings file of the trusted project, as JSON, or ``None``.

        Includes settings that only the user can change: a project may tighten some of them.
        """
        return self._link.workspace.settings.layer("project", key.split("."))

    def set(
        self, key: str, value: Any, *, place: Literal["user", "project", "session"] = "user"
    ) -> None:
        """Store a JSON value in the settings file of the user, or of the trusted project.

        ``None`` removes it; ``"session"`` sets the value for this session only. The value of a
        declared key must have its type. In a nested session every value lasts as long as it, and
        guards can only become stricter. Raises ``PiError`` if the file cannot be written; the value
        still applies to this session.
        """
        plain = self._check_value(key, value)
        settings = self._link.session.workspace.settings
        stores = {
            "user": settings.set,
            "project": settings.set_for_project,
            "session": settings.override,
        }
        if place not in stores:
            raise ExtensionError(
                f'Unknown place "{place}" of a setting.', hint=f"Use one of {', '.join(stores)}."
            )
        stores[place]({key: plain})

    def _check_value(self, key: str, value: Any) -> Any:
        if not key or not all(key.split(".")):
            raise ExtensionError(f'"{key}" is not the name of a setting.')
        if value is None:
            return None
        kind, _, _ = self._declared.get(key, (Any, None, ""))
        try:
            plain = msgspec.json.decode(msgspec.json.encode(value))
            msgspec.convert(plain, kind)
        except (msgspec.MsgspecError, TypeError, OverflowError) as error:
            raise ExtensionError(f'Cannot set "{key}": {error}.') from error
        return plain

    def on_change(self, listener: Callable[[], None]) -> Registration:
        """Call ``listener`` after every change of any setting."""
        settings = self._link.workspace.settings
        return self._link.scope.register(settings.on_change(listener))

    @property
    def declared(self) -> Mapping[str, tuple[Any, Any, str]]:
        """Declared settings: type, default and help by key."""
        return self._declared


class HttpOptions(TypedDict, total=False):
    """Options of ``pi.http``, for requests and streams."""

    method: str
    headers: Mapping[str, str]
    body: bytes
    redirects: int
    """How many redirects to follow, with GET and HEAD only; 0 by default."""
    timeouts: Timeouts
    """Replaces the default timeouts, which suit models that think for minutes."""
    limit: int
    """Most bytes of the decoded body; a larger body raises ``BodyTooLarge``."""
    allow_address: AddressPolicy
    """Restricts the addresses, also of redirects; for URLs that a model has chosen."""


class ExtensionHttp:
    """HTTP with the client of pi: proxy, certificates, timeouts.

    ``redirects``, ``timeouts``, ``limit`` and ``allow_address`` restrict a request; ``url`` of the
    response is the final address. Failures are raised as ``HttpError``.
    """

    def __init__(self, link: SessionLink) -> None:
        self._link = link
        self._loading_client: HttpClient | None = None
        """Used by an extension that is loaded by a trigger, before the session exists."""

    async def request(self, url: str, **options: Unpack[HttpOptions]) -> HttpResponse:
        """Send a request and read the whole response, by default up to 64 MiB."""
        from pi.ai.http.exchange import MAX_BODY_BYTES  # deferred, as below

        limit = options.get("limit", MAX_BODY_BYTES)
        return await self._client().request(_request(url, options), limit=limit)

    def stream(
        self, url: str, **options: Unpack[HttpOptions]
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """A context manager for a response that is read as it arrives; iterating yields bytes."""
        return self._client().stream(_request(url, options), limit=options.get("limit"))

    async def connect(
        self,
        host: str,
        port: int,
        *,
        allow_address: AddressPolicy | None = None,
        seconds: float = 30.0,
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection for another protocol, never through the proxy of pi."""
        from pi.ai.http.tcp import open_stream  # deferred, as below

        return await open_stream(host, port, policy=allow_address, seconds=seconds)

    def _client(self) -> HttpClient:
        if not self._link.is_loading:
            return self._link.session.http()
        if self._loading_client is None:
            from pi.ai.factory import Network, make_services

            workspace = self._link.workspace
            network = Network(proxy=workspace.settings.values.http_proxy)
            services = make_services(workspace.environ, self._link.scope.clock, network)
            self._link.scope.on_close(services.close)
            self._loading_client = services.http
        return self._loading_client


def _request(url: str, options: HttpOptions) -> HttpRequest:
    # Deferred import: sessions without such a request do not load the HTTP client.
    from pi.ai.http.request import HttpRequest

    check_options("pi.http", options, HttpOptions)  # a misspelt limit must not mean "no limit"
    return HttpRequest(
        method=options.get("method", "GET"),
        url=url,
        headers=tuple((options.get("headers") or {}).items()),
        body=options.get("body", b""),
        redirects=options.get("redirects", 0),
        timeouts=options.get("timeouts"),
        addresses=options.get("allow_address"),
    )


class ExtensionImages:
    """Image models, and requests to them."""

    def __init__(self, link: SessionLink, auth: ExtensionAuth) -> None:
        self._link = link
        self._credentials = _SessionCredentials(auth, link)
        self._image_models: ImagesModels | None = None

    async def available(self) -> tuple[ImageModel, ...]:
        """Every image model whose provider has credentials."""
        models = self._models.get_models()
        providers = dict.fromkeys(model.provider for model in models)
        usable = {name for name in providers if await self._credentials.of(name) is not None}
        return tuple(self._with_base_url(model) for model in models if model.provider in usable)

    def _with_base_url(self, model: ImageModel) -> ImageModel:
        """The model with the user's base URL: the key of a gateway must be sent only there."""
        models = self._link.session.models.registry.get_all()
        urls = (chat.base_url for chat in models if chat.provider == model.provider)
        return replace(model, base_url=next(urls, "") or model.base_url)

    async def generate(self, model: ImageModel, request: ImageRequest) -> ImageResult:
        """Generate images, or edit those of the request; failures are in ``error_message``."""
        return await self._models.generate(model, request)

    @property
    def _models(self) -> ImagesModels:
        if self._image_models is None:
            # Deferred: few sessions generate images.
            from pi.ai.images.catalog import IMAGE_MODELS
            from pi.ai.images.collection import ImagesModels
            from pi.ai.providers.rows import BUILT_IN

            self._image_models = ImagesModels(
                IMAGE_MODELS,
                BUILT_IN,
                auth=self._credentials,
                clock=self._link.scope.clock,
                make_services=self._services,
            )
        return self._image_models

    def _services(self) -> Services:
        """Services with the session's client, which the collection must not close."""
        from pi.ai.wire_support.exchange import Services

        session = self._link.session
        environ = session.workspace.environ
        return Services(http=session.http(), clock=self._link.scope.clock, environ=environ)


class _SessionCredentials:
    """Credentials of sources of extensions, of the store and of the environment."""

    def __init__(self, auth: ExtensionAuth, link: SessionLink) -> None:
        self._auth = auth
        self._link = link

    async def of(self, provider: str) -> Access | None:
        """The credentials of a provider; for images of Google, ``GOOGLE_API_KEY`` is enough."""
        access = await self._auth.access(provider)
        key = self._link.session.workspace.environ.get("GOOGLE_API_KEY")
        if access is None and provider == "google" and key:
            return Access(api_key=key)
        return access

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """The credentials for one request."""
        return await self.of(provider.id)
