"""The models of a session: lookup, availability, and patterns such as ``provider/id:thinking``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias, get_args

from pi.ai.collection import Models
from pi.ai.errors import ProviderError
from pi.ai.former_names import current_name
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.provider import Provider
from pi.ai.providers.chosen_servers import ServerStatus, address_here
from pi.ai.providers.discovered import DiscoveredProvider
from pi.ai.providers.listed_server import ListedServer
from pi.base.records import Record, replace

LEVELS: tuple[str, ...] = get_args(ThinkingLevel)

Usable: TypeAlias = Callable[[str], bool]
"""Whether there are credentials for a provider."""

MAKERS = frozenset(
    {
        "anthropic",
        "deepseek",
        "google",
        "meta",
        "minimax",
        "mistral",
        "moonshotai",
        "openai",
        "xai",
        "xiaomi",
        "zai",
    }
)
"""Providers of their own models: others resell them, some under the same ids."""

NOT_FOR_TEXTS = frozenset({"demo/tour", "local/smollm2-135m"})
"""Bundled models that write no titles, summaries or reviews: a script, and one of 135M parameters,
whose answers to such requests are nonsense."""

_DATED = r"-\d{8}$|-\d{4}-\d{2}-\d{2}$"


class ResolvedModel(Record):
    """A model, and the thinking level if given."""

    model: Model
    thinking: ThinkingLevel | None = None


def find_model(
    pattern: str, models: Sequence[Model], *, usable: Usable, provider: str | None = None
) -> ResolvedModel | None:
    """Return the model that ``pattern`` matches, or ``None``.

    An exact id always wins, whatever characters it has; only then is a ``:level`` suffix
    considered. Among several matches, those with credentials come first.
    """
    candidates = [m for m in models if provider is None or m.provider == provider]
    model = _find_exact(pattern, candidates, usable)
    if model is not None:
        return ResolvedModel(model=model)
    name, _, level = pattern.rpartition(":")
    if name and level in LEVELS:
        model = _find_exact(name, candidates, usable) or _find_similar(name, candidates, usable)
        return ResolvedModel(model=model, thinking=level) if model else None  # type: ignore[arg-type]
    if ":" in pattern and not any(pattern.lower() in m.id.lower() for m in candidates):
        return None  # an unknown suffix
    model = _find_similar(pattern, candidates, usable)
    return ResolvedModel(model=model) if model else None


def find_scope(
    patterns: Iterable[str], models: Sequence[Model], *, usable: Usable
) -> tuple[ResolvedModel, ...]:
    """Return the usable models that match ``patterns``, without duplicates, in order."""
    choices: dict[tuple[str, str], ResolvedModel] = {}
    for pattern in patterns:
        for choice in _all_matching(pattern.strip(), models, usable):
            choices.setdefault((choice.model.provider, choice.model.id), choice)
    return tuple(choices.values())


def _all_matching(pattern: str, models: Sequence[Model], usable: Usable) -> Sequence[ResolvedModel]:
    if not any(mark in pattern for mark in "*?["):
        candidates = [m for m in models if usable(m.provider)]
        one = find_model(pattern, candidates, usable=usable)
        if one is None:
            return ()
        others = () if names_provider(pattern, one.model) else providers_of(one.model, candidates)
        return (one, *(replace(one, model=model) for model in others if model != one.model))
    name, _, level = pattern.rpartition(":")
    thinking = level if name and level in LEVELS else None
    glob = (name if thinking else pattern).lower()
    return [
        ResolvedModel(model=model, thinking=thinking)  # type: ignore[arg-type]
        for model in models
        if usable(model.provider)
        and (fnmatchcase(model.id.lower(), glob) or fnmatchcase(full_name(model).lower(), glob))
    ]


def names_provider(pattern: str, model: Model) -> bool:
    """Whether a pattern that has matched ``model`` names its provider."""
    return pattern.lower().startswith(f"{model.provider}/".lower())


def providers_of(model: Model, models: Iterable[Model]) -> tuple[Model, ...]:
    """Return the models with the id of ``model``, one of each provider."""
    return tuple(other for other in models if other.id == model.id)


def _find_exact(pattern: str, models: Sequence[Model], usable: Usable) -> Model | None:
    """Return the model with exactly that id, or ``provider/id``; ignores case."""
    name = pattern.lower()
    full = [model for model in models if full_name(model).lower() == name]
    bare = [model for model in models if model.id.lower() == name]
    # Exact case before other case, then models with credentials, then those of their makers.
    full.sort(key=lambda model: full_name(model) != pattern)
    bare.sort(key=lambda model: (model.id != pattern, *_preference_key(model, usable)))
    return next(iter(full + bare), None)


def _find_similar(pattern: str, models: Sequence[Model], usable: Usable) -> Model | None:
    """Return the best model whose names contain every word of ``pattern``.

    Models with credentials come first, then those of their makers; then, if only one provider has
    such, those whose own names match; then names without a date; then later names.
    """
    prefixes = ["".join(_split_words(word)) for word in re.split(r"[\s/]+", pattern)]
    prefixes = [word for word in prefixes if word]
    if not prefixes:
        return None
    near = [m for m in models if all(_has_word(_searchable_names(m), word) for word in prefixes)]
    near.sort(key=lambda m: m.id, reverse=True)
    near.sort(key=lambda m: (*_preference_key(m, usable), re.search(_DATED, m.id) is not None))
    if len({m.provider for m in near}) == 1:
        near.sort(key=lambda m: not all(_has_word(f"{m.id} {m.name}", word) for word in prefixes))
    return next(iter(near), None)


def _preference_key(model: Model, usable: Usable) -> tuple[bool, bool]:
    """Return the key that sorts models with credentials first, then those of their makers."""
    return not usable(model.provider), model.provider not in MAKERS


def writes_texts(model: Model) -> bool:
    """Whether a model can do background work, such as titles and summaries."""
    return full_name(model) not in NOT_FOR_TEXTS


def is_role(pattern: str) -> bool:
    """Whether ``pattern`` names a role, such as ``@smol``; no id of a model has this form."""
    return re.fullmatch(r"@[A-Za-z][\w-]*(:[a-z]+)?", pattern) is not None


def full_name(model: Model) -> str:
    """``provider/id``."""
    return f"{model.provider}/{model.id}"


def _searchable_names(model: Model) -> str:
    return f"{full_name(model)} {model.name}"


def _has_word(names: str, prefix: str) -> bool:
    """Whether a word, or consecutive words joined, begin with ``prefix``.

    So ``sonnet4.6`` finds ``claude-sonnet-4-6``, and letters within words do not match by chance.
    """
    name_words = _split_words(names)
    return any("".join(name_words[start:]).startswith(prefix) for start in range(len(name_words)))


def _split_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


LOCAL = ("ollama", "llama.cpp", "lm-studio", "vllm")
"""Providers whose models are known only after querying a server on this machine."""


Resolver: TypeAlias = Callable[[str], Model | str | None]
"""Resolves a name to a model or another pattern; ``None`` if unknown."""


class ModelRegistry:
    """Lookups over ``Models``; never waits and sends no requests.

    ``reload`` reloads the user's own file.
    """

    def __init__(
        self,
        models: Models,
        *,
        offline: bool = False,
        reload: Callable[[Models], None] = lambda models: None,
    ) -> None:
        self.models = models
        self._offline = offline
        self._reload_models = reload
        self._resolvers: tuple[Resolver, ...] = ()
        self._custom: dict[tuple[str, str], Model] = {}
        """Models of ids that their provider does not list, by provider and id."""
        self.unlisted: dict[str, ProviderError] = {}
        """Why providers with credentials did not list their models at the last attempt."""

    def add_resolver(self, resolver: Resolver) -> Callable[[], None]:
        """Add a resolver that precedes patterns. Returns a function that removes it."""
        self._resolvers = (*self._resolvers, resolver)

        def end() -> None:
            self._resolvers = tuple(other for other in self._resolvers if other is not resolver)

        return end

    def get_all(self) -> tuple[Model, ...]:
        """Return all known models."""
        return self.models.get_models()

    def get_available(self) -> tuple[Model, ...]:
        """Return all usable models: of providers with credentials and of chosen local servers.

        Models bundled with pi are included only if there are no others.
        """
        models = self.get_all()
        # Each provider once: there are thousands of models.
        providers = {name for name in {model.provider for model in models} if self.is_usable(name)}
        usable = [model for model in models if model.provider in providers]
        fallbacks = self._fallbacks()
        others = tuple(model for model in usable if model.provider not in fallbacks)
        return others or tuple(usable)

    def get_offered(self) -> tuple[Model, ...]:
        """Return all models that the user can choose.

        These are the available models, the models bundled with pi, and those of servers found on
        this machine.
        """
        return tuple(model for model in self.get_all() if self.has_auth(model.provider))

    def _fallbacks(self) -> frozenset[str]:
        return frozenset(row.id for row in self.models.get_providers() if row.is_fallback)

    def is_usable(self, provider: str) -> bool:
        """Whether ``provider`` has credentials and, if it is a local server, was chosen."""
        status = self.server_status(provider)
        return self.has_auth(provider) and (status is None or status.state == "chosen")

    def server_status(self, provider: str) -> ServerStatus | None:
        """Return the owner and permission of a local server; ``None`` for other providers."""
        owner = self.models.get_provider(provider)
        return owner.server_status() if isinstance(owner, DiscoveredProvider) else None

    def not_chosen(self) -> tuple[ServerStatus, ...]:
        """Return the local servers that were found but not chosen."""
        servers = (self.server_status(name) for name in LOCAL if self.models.get_models(name))
        return tuple(
            server for server in servers if server is not None and server.state != "chosen"
        )

    async def choose_server(self, model: Model, *, anew: bool = False) -> None:
        """Allow requests to the server of ``model``, if it is a local one.

        Raises ``ServerNotChosen`` if its owner has changed since it was chosen, unless ``anew`` is
        set.
        """
        owner = self.models.get_provider(model.provider)
        if isinstance(owner, DiscoveredProvider):
            await owner.choose(model.id, anew=anew)

    def has_auth(self, provider: str) -> bool:
        """Whether there are credentials for ``provider``."""
        return self.models.is_available(provider)

    def has_configured_auth(self, model: Model) -> bool:
        """Whether there are credentials for the provider of a model."""
        return self.has_auth(model.provider)

    def key_problems(self, providers: Collection[str] | None = None) -> list[str]:
        """Return the problems of configured API keys, such as an unset variable.

        ``providers`` are all by default. Unconfigured providers are not problems.
        """
        return [
            message
            for row in self.models.get_providers()
            if (providers is None or row.id in providers) and not self.has_auth(row.id)
            if (message := self.models.missing_credentials(row.id).problem)
        ]

    async def get_api_key_and_headers(self, model: Model) -> tuple[str | None, dict[str, str]]:
        """Return the API key and headers for a model; empty without credentials."""
        access = await self.models.access(model.provider, model)
        return (None, {}) if access is None else (access.api_key, dict(access.headers))

    async def refresh(self) -> None:
        """Reload the models of all providers; those that fail keep their list."""
        await self.models.refresh()

    def find(self, provider: str, model_id: str) -> Model | None:
        """Return the model with exactly that name, or ``None``."""
        listed = self.models.get_model(provider, model_id)
        return self._custom.get((provider, model_id)) if listed is None else listed

    def is_custom(self, model: Model) -> bool:
        """Whether ``model`` was made by ``custom``, and its provider still does not list it."""
        name = (model.provider, model.id)
        return name in self._custom and self.models.get_model(*name) is None

    def custom(self, provider: str, model_id: str) -> Model | None:
        """Return a copy of the default model of ``provider`` with an id that it does not list.

        New models are thus usable before a catalog has them. ``None`` if the provider has no
        models, or if it is part of pi and has no others.
        """
        default = self.default_of(provider)
        if default is None or not model_id or provider in self._fallbacks():
            return None
        model = replace(default, id=model_id, name=model_id)
        self._custom[provider, model_id] = model
        return model

    def resolve_custom(self, pattern: str, provider: str | None = None) -> ResolvedModel | None:
        """Return the custom model of ``provider/id``, or of an id of ``provider``, with its level.

        ``None`` if the pattern names no provider with models.
        """
        pattern, provider = current_name(pattern), provider and current_name(provider)
        if provider is None:
            provider, _, pattern = pattern.partition("/")
        else:
            pattern = pattern.removeprefix(f"{provider}/")
        name, _, level = pattern.rpartition(":")
        thinking = level if name and level in LEVELS else None
        model = self.custom(provider, name if thinking else pattern)
        return ResolvedModel(model=model, thinking=thinking) if model else None  # type: ignore[arg-type]

    def resolve(self, pattern: str, provider: str | None = None) -> ResolvedModel | None:
        """Return the model that ``pattern`` matches, or ``None``."""
        pattern, provider = current_name(pattern), provider and current_name(provider)
        for resolver in self._resolvers if provider is None else ():
            named = resolver(pattern)
            if isinstance(named, Model):
                return ResolvedModel(model=named)
            if named is not None:
                pattern = named
                break
        if is_role(pattern):
            return None  # @smol must not become any model with "smol" in its name
        owner, _, model_id = pattern.partition("/")
        if provider in (None, owner) and (exact := self.find(owner, model_id)) is not None:
            return ResolvedModel(model=exact)  # without loading the models of all other providers
        if provider is not None:
            return find_model(pattern, self.models.get_models(provider), usable=self.has_auth)
        # A server that was never chosen must be named explicitly: it could name its models like
        # those of any provider.
        hidden = {status.provider for status in self.not_chosen()} - {owner}
        candidates = [model for model in self.get_all() if model.provider not in hidden]
        return find_model(pattern, candidates, usable=self.has_auth)

    def ambiguous(self, pattern: str, model: Model) -> tuple[Model, ...]:
        """Return the models that ``pattern`` can mean beside ``model``, which it has matched.

        None if it names the provider, if exactly one of the providers has credentials, or if
        ``model`` is of its maker, which comes first.
        """
        if names_provider(pattern, model) or is_role(pattern):
            return ()
        same = providers_of(model, self.get_all())
        with_auth = tuple(other for other in same if self.has_auth(other.provider))
        if len(same) < 2 or len(with_auth) == 1 or model.provider in MAKERS:
            return ()
        return with_auth or same

    def scope(self, patterns: Sequence[str]) -> tuple[ResolvedModel, ...]:
        """Return the models to cycle through."""
        if not patterns:
            return ()
        patterns = [current_name(pattern) for pattern in patterns]
        named = {word for pattern in patterns for word in (pattern, pattern.partition("/")[0])}
        unnamed = self._fallbacks() - named  # a glob over all providers does not include them
        candidates = [m for m in self.get_all() if m.provider not in unnamed or m.id in named]
        return find_scope(patterns, candidates, usable=self.is_usable)

    def default_of(self, provider: str) -> Model | None:
        """Return the model chosen with its server, the provider's default, or its first model."""
        rows = {row.id: row for row in self.models.get_providers()}
        models = self.models.get_models(provider)
        default = rows[provider].default_model if provider in rows else ""
        status = self.server_status(provider)
        if status is not None and status.chosen is not None:
            default = status.chosen.model or default
        return next((model for model in models if model.id == default), next(iter(models), None))

    def reload(self) -> None:
        """Reload ``models.json``."""
        self._reload_models(self.models)

    async def discover_local(self) -> bool:
        """Query providers with dynamic model lists; returns whether any model was found."""
        before = len(self.get_all())
        refreshes = [self.models.refresh(name) for name in self.discoverable()]
        failures = await asyncio.gather(*refreshes)
        self.unlisted = {
            name: error
            for errors in failures
            for name, error in errors.items()
            if name not in LOCAL  # most machines run no such server
        }
        return len(self.get_all()) > before

    def is_undiscovered(self, provider: str) -> bool:
        """Whether the models of ``provider`` are unknown because it was not queried yet."""
        return provider in self.discoverable() and not self.models.get_models(provider)

    def discoverable(self) -> tuple[str, ...]:
        """Return the providers with dynamic model lists.

        These are local servers, also those of models.json, and, unless pi is offline, gateways with
        credentials.
        """
        rows = self.models.get_providers()
        return tuple(row.id for row in rows if row.id in LOCAL or self._is_gateway(row))

    def _is_gateway(self, row: Provider) -> bool:
        if not row.lists_models or not self.has_auth(row.id):
            return False
        is_own_server = isinstance(self.models.get_provider(row.id), ListedServer)
        return not self._offline or (is_own_server and address_here(row.base_url) is not None)
