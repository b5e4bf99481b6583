"""Models: lookup of all models of all providers, and routing of requests to their provider.

Lookups are synchronous and return what is known; only ``refresh`` uses the network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.ai.builder import MessageBuilder
from pi.ai.errors import AuthenticationFailed, ProviderError
from pi.ai.event_stream import Answer, EventStream, Flush
from pi.ai.former_names import current_name
from pi.ai.messages import AssistantMessage, Context, Message
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import clamp_level
from pi.ai.provider import Provider
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.token_estimates import largest_answer
from pi.ai.transcript import conversation
from pi.base.clock import Clock
from pi.base.records import replace
from pi.base.tasks import off_loop

if TYPE_CHECKING:  # importing it would load the HTTP client before the first request
    from pi.ai.auth.resolve import MissingCredentials
    from pi.ai.models.updated_catalog import UpdatedCatalog
    from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)


class ModelProvider(Protocol):
    """Serves models: a built-in provider with its catalog, a custom one, or an extension's."""

    @property
    def row(self) -> Provider:
        """Its row in the provider table: id, name, endpoints, authentication."""
        ...

    def models(self) -> tuple[Model, ...]:
        """Return its models, as far as they are known now."""
        ...

    async def refresh(self, services: Services, access: Access | None) -> None:
        """Fetch the current list of models; keeps the previous one if that fails."""
        ...

    async def answer(
        self, call: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        """Send the request and fill ``builder`` with the response."""
        ...


@runtime_checkable
class HasUnlistedModels(Protocol):
    """A provider with more models than it can list, e.g. one for every file."""

    def unlisted_model(self, model_id: str) -> Model | None:
        """Return the model with that id, if there can be one."""
        ...


class Authenticator(Protocol):
    """Finds the credentials of a provider; implemented by ``pi.ai.auth``."""

    async def access(
        self, provider: Provider, model: Model | None, options: StreamOptions, services: Services
    ) -> Access | None:
        """Return the credentials for one request; ``None`` if there are none.

        Raises ``AuthenticationFailed`` if there are some and they do not work.
        """
        ...

    def is_configured(self, provider: Provider) -> bool:
        """Whether credentials seem to exist; uses neither the network nor a command."""
        ...

    def missing(self, provider: Provider) -> MissingCredentials:
        """Return why there are none, and how to get some."""
        ...


@runtime_checkable
class RejectionListener(Protocol):
    """An authenticator that can replace credentials which a server refused."""

    async def rejected(self, provider: Provider) -> bool:
        """Called when a server refused the last credentials (401).

        Returns whether others are available now.
        """
        ...


@runtime_checkable
class DescribesCredentials(Protocol):
    """An authenticator that can name the source of its credentials."""

    def describe(self, name: str) -> str:
        """Return the source of a provider's credentials in a few words; empty if unknown."""
        ...


@runtime_checkable
class MayRunCommand(Protocol):
    """An authenticator that may run commands of the user to get a key."""

    def runs_command(self, provider: Provider) -> bool:
        """Return whether it does so for ``provider``."""
        ...


class Models:
    """The providers of a program. It has one owner, who closes it."""

    def __init__(
        self,
        providers: Iterable[ModelProvider],
        *,
        auth: Authenticator,
        clock: Clock,
        make_services: Callable[[], Services],
        catalog: UpdatedCatalog | None = None,
    ) -> None:
        self.catalog = catalog
        """The bundled catalog and its updates; ``None`` without any."""
        self._providers = {provider.row.id: provider for provider in providers}
        self._from_factory = dict(self._providers)
        """Providers from the factory that were not replaced by ``register``."""
        self._auth = auth
        self._auths: tuple[Authenticator, ...] = (auth,)
        self._clock = clock
        self._make_services = make_services
        self._services: Services | None = None

    # Lookup and credentials -----------------------------------------------------------------------

    def get_providers(self) -> tuple[Provider, ...]:
        """Return the rows of all providers, in the order of registration."""
        return tuple(provider.row for provider in self._providers.values())

    def get_models(self, provider: str | None = None) -> tuple[Model, ...]:
        """Return all models, or those of one provider, as last known."""
        if provider is not None:
            owner = self.get_provider(provider)
            return () if owner is None else owner.models()
        return tuple(model for owner in self._providers.values() for model in owner.models())

    def get_model(self, provider: str, model_id: str) -> Model | None:
        """Return the model of ``provider`` with exactly this id."""
        for model in self.get_models(provider):
            if model.id == model_id:
                return model
        owner: object = self.get_provider(provider)
        return owner.unlisted_model(model_id) if isinstance(owner, HasUnlistedModels) else None

    def is_available(self, provider: str) -> bool:
        """Whether there seem to be credentials for ``provider``."""
        owner = self.get_provider(provider)
        return owner is not None and any(auth.is_configured(owner.row) for auth in self._auths)

    def missing_credentials(self, provider: str) -> MissingCredentials:
        """Return why ``provider`` has no credentials, and how to get some."""
        owner = self.get_provider(provider)
        if owner is None:
            from pi.ai.auth.resolve import MissingCredentials  # lazy: no request needs it

            return MissingCredentials(problem=f'There is no provider "{provider}".')
        return self._auth.missing(owner.row)

    def runs_command(self, provider: str) -> bool:
        """Whether the credentials of ``provider`` are the output of a command of the user."""
        owner = self.get_provider(provider)
        return owner is not None and any(
            isinstance(auth, MayRunCommand) and auth.runs_command(owner.row) for auth in self._auths
        )

    def credential_source(self, provider: str) -> str:
        """Return where a registered source takes the credentials from; empty without one."""
        described = (
            a.describe(provider) for a in self._auths if isinstance(a, DescribesCredentials)
        )
        return next((text for text in described if text), "")

    def add_authenticator(self, auth: Authenticator) -> Callable[[], None]:
        """Register a credential source with the highest priority; returns an unregister
        function."""
        self._auths = (auth, *self._auths)

        def end() -> None:
            self._auths = tuple(other for other in self._auths if other is not auth)

        return end

    async def access(
        self, provider: str, model: Model | None = None, options: StreamOptions | None = None
    ) -> Access | None:
        """Return the credentials of a provider; ``None`` if it has none or does not exist."""
        owner = self.get_provider(provider)
        if owner is None:
            return None
        for auth in self._auths:
            access = await auth.access(
                owner.row, model, options or StreamOptions(), self.services()
            )
            if access is not None:
                return access
        return None

    # Registration ---------------------------------------------------------------------------------

    def register(self, provider: ModelProvider) -> None:
        """Add a provider, or replace the one with its id."""
        self._providers[provider.row.id] = provider

    def get_provider(self, provider: str) -> ModelProvider | None:
        """Return the provider that serves that id now; ``provider`` may be a former id of it."""
        return self._providers.get(provider) or self._providers.get(current_name(provider))

    def unregister(self, provider: str) -> None:
        """Remove a provider; does nothing if it does not exist."""
        self._providers.pop(provider, None)

    def adopt(self, other: Models, names: Iterable[str]) -> None:
        """Take over the named providers of ``other`` as its factory made them, and its credentials.

        A provider that was registered in place of one of them stays.
        """
        for name in names:
            owner = other._from_factory.get(name)
            is_replaced = self._providers.get(name) is not self._from_factory.get(name)
            if owner is None:
                self._from_factory.pop(name, None)
            else:
                self._from_factory[name] = owner
            if is_replaced:
                continue
            if owner is None:
                self.unregister(name)
            else:
                self.register(owner)
        self._auths = tuple(other._auth if auth is self._auth else auth for auth in self._auths)
        self._auth = other._auth

    async def refresh(self, provider: str | None = None) -> Mapping[str, ProviderError]:
        """Fetch the current models of providers concurrently; returns the errors by provider."""
        chosen = [owner for name, owner in self._providers.items() if provider in (None, name)]
        errors = await asyncio.gather(*map(self._refresh_one, chosen))
        return {
            owner.row.id: error
            for owner, error in zip(chosen, errors, strict=True)
            if error is not None
        }

    # Requests ------------------------------------------------------------------------------------

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Send a request to ``model`` exactly as ``options`` say."""
        return self._stream(model, partial(self._answer, model, conversation(context), options))

    def stream_simple(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> EventStream:
        """Send a request with a thinking level the model supports and an output that fits its
        window."""
        options, messages = options or StreamOptions(), conversation(context)
        return self._stream(model, partial(self._answer_fitted, model, messages, options))

    async def complete(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AssistantMessage:
        """Return the whole response of ``stream_simple``; failures are in its ``stop_reason``."""
        return await self.stream_simple(model, context, options).result()

    async def close(self) -> None:
        """Close every connection that requests have left open."""
        if self._services is not None:
            await self._services.close()
            self._services = None

    # ---------------------------------------------------------------------------------------------

    def _stream(self, model: Model, answer: Answer) -> EventStream:
        builder = MessageBuilder(
            model,
            now_ms=self._clock.now_ms(),
            find_model=partial(self.get_model, model.provider),
        )
        return EventStream(builder, answer)

    async def _answer_fitted(
        self,
        model: Model,
        messages: tuple[Message, ...],
        options: StreamOptions,
        builder: MessageBuilder,
        flush: Flush,
    ) -> None:
        cap = await off_loop(partial(largest_answer, model, messages), len(messages))
        level = options.reasoning
        fitted = replace(
            options,
            # "off" stays: each wire handles models whose thinking cannot be off.
            reasoning=level if level == "off" else clamp_level(model, level),
            max_tokens=min(options.max_tokens or cap, cap),
        )
        await self._answer(model, messages, fitted, builder, flush)

    async def _answer(
        self,
        model: Model,
        messages: tuple[Message, ...],
        options: StreamOptions | None,
        builder: MessageBuilder,
        flush: Flush,
    ) -> None:
        options = options or StreamOptions()
        owner = self.get_provider(model.provider)
        if owner is None:
            raise ProviderError(f'No provider is called "{model.provider}".')
        services = self.services()
        access = await self.access(model.provider, model, options)
        if access is None:
            raise AuthenticationFailed(
                f"No API key for provider: {model.provider}",
                hint=self._auth.missing(owner.row).explain(),
            )
        call = Call(model=model, messages=messages, options=options, access=access)
        try:
            await owner.answer(call, builder, flush, services)
            return
        except AuthenticationFailed as refused:
            if refused.status != 401 or builder.started or not await self._has_others(owner.row):
                raise
        access = await self.access(model.provider, model, options)
        if access is None:
            raise AuthenticationFailed(f"No API key for provider: {model.provider}")
        await owner.answer(replace(call, access=access), builder, flush, services)

    async def _has_others(self, provider: Provider) -> bool:
        """Whether a source of credentials has others after a server refused the last ones."""
        for auth in self._auths:
            if isinstance(auth, RejectionListener) and await auth.rejected(provider):
                return True
        return False

    async def _refresh_one(self, owner: ModelProvider) -> ProviderError | None:
        try:
            services = self.services()
            await owner.refresh(services, await self.access(owner.row.id))
        except ProviderError as error:
            log.info("the models of %s could not be refreshed: %s", owner.row.id, error)
            return error
        except Exception as bug:  # it may be an extension's provider
            log.exception("%s could not list its models", owner.row.id)
            return ProviderError(f"{owner.row.name} could not list its models: {bug!r}")
        return None

    def services(self) -> Services:
        """Return the services of the wires, with the connections that requests have left open."""
        if self._services is None:
            self._services = self._make_services()
        return self._services
