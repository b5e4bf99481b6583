"""All models of all providers behind one door: look-ups, and requests routed by owner.

Reading is synchronous and gives what is known; ``refresh`` is the verb that asks the network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.ai.builder import MessageBuilder
from pi.ai.errors import AuthenticationFailed, ProviderError
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model, clamp_level
from pi.ai.provider import Provider
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.stream import EventStream, Flush
from pi.ai.token_estimate import largest_answer
from pi.ai.transcript import conversation
from pi.base.clock import Clock
from pi.base.records import replace

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.auth.resolve import MissingCredentials
    from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)


class ModelProvider(Protocol):
    """Serves models: a built-in row with its catalog, a custom one, or a program of its own."""

    @property
    def row(self) -> Provider:
        """Who it is and what opens its door."""
        ...

    def models(self) -> tuple[Model, ...]:
        """Its models, as far as they are known now."""
        ...

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Ask for the current list of models; keeps the last one when that fails."""
        ...

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Fill ``builder`` with the model's answer."""
        ...


@runtime_checkable
class HasUnlistedModels(Protocol):
    """A provider with more models than it can list, e.g. one for every file."""

    def unlisted_model(self, model_id: str) -> Model | None:
        """The model of that id, if there can be one."""
        ...


class Authenticator(Protocol):
    """Finds what opens a provider's door; ``pi.ai.auth`` has the real one."""

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Credentials for one request; ``None`` when there are none.

        Raises ``AuthenticationFailed`` when there are some and they do not work.
        """
        ...

    def is_configured(self, provider: Provider) -> bool:
        """Whether there seem to be credentials, without asking anybody."""
        ...

    def missing(self, provider: Provider) -> MissingCredentials:
        """Why there are none, and how to get some."""
        ...


class Models:
    """The providers a program talks to. One owner; close it when done."""

    def __init__(
        self,
        providers: Iterable[ModelProvider],
        *,
        auth: Authenticator,
        clock: Clock,
        make_services: Callable[[], Services],
    ) -> None:
        self._providers = {provider.row.id: provider for provider in providers}
        self._given = dict(self._providers)
        """Those that nobody has registered since."""
        self._auth = auth
        self._auths: tuple[Authenticator, ...] = (auth,)
        self._clock = clock
        self._make_services = make_services
        self._services: Services | None = None

    # Look-ups: never wait ------------------------------------------------------------------------

    def get_providers(self) -> tuple[Provider, ...]:
        """Who serves models, in the order of registration."""
        return tuple(provider.row for provider in self._providers.values())

    def get_models(self, provider: str | None = None) -> tuple[Model, ...]:
        """All models, or those of one provider, as last known."""
        if provider is not None:
            owner = self._providers.get(provider)
            return () if owner is None else owner.models()
        return tuple(model for owner in self._providers.values() for model in owner.models())

    def get_model(self, provider: str, model_id: str) -> Model | None:
        """The model of ``provider`` with exactly this id."""
        for model in self.get_models(provider):
            if model.id == model_id:
                return model
        owner: object = self._providers.get(provider)
        return owner.unlisted_model(model_id) if isinstance(owner, HasUnlistedModels) else None

    def is_available(self, provider: str) -> bool:
        """Whether requests to ``provider`` have credentials to go with."""
        owner = self._providers.get(provider)
        return owner is not None and any(auth.is_configured(owner.row) for auth in self._auths)

    def missing_credentials(self, provider: str) -> MissingCredentials:
        """Why requests to ``provider`` have no credentials, and how to get some."""
        owner = self._providers.get(provider)
        if owner is None:
            from pi.ai.auth.resolve import MissingCredentials  # not needed for any request

            return MissingCredentials(problem=f'There is no provider "{provider}".')
        return self._auth.missing(owner.row)

    def ask_first(self, auth: Authenticator) -> Callable[[], None]:
        """Have ``auth`` asked for credentials before everybody else; gives what ends that."""
        self._auths = (auth, *self._auths)

        def end() -> None:
            self._auths = tuple(other for other in self._auths if other is not auth)

        return end

    async def access(
        self, provider: str, model: Model | None = None, options: StreamOptions | None = None
    ) -> Access | None:
        """What opens a provider's door now; ``None`` when there are no credentials, or no such."""
        owner = self._providers.get(provider)
        if owner is None:
            return None
        for auth in self._auths:
            found = await auth.access(owner.row, model, options or StreamOptions(), self._opened())
            if found is not None:
                return found
        return None

    # Who is there --------------------------------------------------------------------------------

    def register(self, provider: ModelProvider) -> None:
        """Add a provider, or take the place of the one with its id."""
        self._providers[provider.row.id] = provider

    def get_provider(self, provider: str) -> ModelProvider | None:
        """Who serves the models of that provider now."""
        return self._providers.get(provider)

    def unregister(self, provider: str) -> None:
        """Remove a provider; nothing happens when it is not there."""
        self._providers.pop(provider, None)

    def adopt(self, other: Models, names: Iterable[str]) -> None:
        """Have the providers of these names as ``other`` was given them, and its credentials.

        Whoever was registered in the place of one stays.
        """
        for name in names:
            owner = other._given.get(name)
            is_replaced = self._providers.get(name) is not self._given.get(name)
            if owner is None:
                self._given.pop(name, None)
            else:
                self._given[name] = owner
            if is_replaced:
                continue
            if owner is None:
                self.unregister(name)
            else:
                self.register(owner)
        self._auths = tuple(other._auth if auth is self._auth else auth for auth in self._auths)
        self._auth = other._auth

    async def refresh(self, provider: str | None = None) -> Mapping[str, ProviderError]:
        """Ask providers for their current models, side by side; what failed is in the answer."""
        chosen = [owner for name, owner in self._providers.items() if provider in (None, name)]
        problems = await asyncio.gather(*map(self._refresh_one, chosen))
        return {
            owner.row.id: problem
            for owner, problem in zip(chosen, problems, strict=True)
            if problem is not None
        }

    # Requests ------------------------------------------------------------------------------------

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Ask ``model`` exactly as ``options`` say."""
        builder = MessageBuilder(
            model,
            now_ms=self._clock.now_ms(),
            find_model=partial(self.get_model, model.provider),
        )
        return EventStream(builder, partial(self._answer, model, context, options))

    def stream_simple(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Ask ``model`` with a thinking level it has and an answer that fits its window."""
        options = options or StreamOptions()
        cap = largest_answer(model, conversation(context))
        level = options.reasoning
        return self.stream(
            model,
            context,
            replace(
                options,
                # "off" stays: a model that cannot be off is a matter of its wire.
                reasoning=level if level == "off" else clamp_level(model, level),
                max_tokens=min(options.max_tokens or cap, cap),
            ),
        )

    async def complete(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AssistantMessage:
        """The whole answer of ``stream_simple``; failures are in its ``stop_reason``."""
        return await self.stream_simple(model, context, options).result()

    async def close(self) -> None:
        """Close every connection that requests have left open."""
        if self._services is not None:
            await self._services.close()
            self._services = None

    # ---------------------------------------------------------------------------------------------

    async def _answer(
        self,
        model: Model,
        context: Context,
        options: StreamOptions | None,
        builder: MessageBuilder,
        flush: Flush,
    ) -> None:
        options = options or StreamOptions()
        owner = self._providers.get(model.provider)
        if owner is None:
            raise ProviderError(f'No provider is called "{model.provider}".')
        services = self._opened()
        access = await self.access(model.provider, model, options)
        if access is None:
            raise AuthenticationFailed(
                f"No API key for provider: {model.provider}",
                hint=self._auth.missing(owner.row).explain(),
            )
        call = Call(model=model, messages=conversation(context), options=options, access=access)
        await owner.answer(call, builder, flush, services)

    async def _refresh_one(self, owner: ModelProvider) -> ProviderError | None:
        try:
            services = self._opened()
            await owner.refresh(services, await self.access(owner.row.id))
        except ProviderError as error:
            log.info("the models of %s could not be refreshed: %s", owner.row.id, error)
            return error
        except Exception as bug:  # it may be somebody else's program
            log.exception("%s could not list its models", owner.row.id)
            return ProviderError(f"{owner.row.name} could not list its models: {bug!r}")
        return None

    def _opened(self) -> Services:
        if self._services is None:
            self._services = self._make_services()
        return self._services
