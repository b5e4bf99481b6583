"""The models of a session: who can be asked, and which one is chosen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias, get_args

from pi.ai.collection import Models
from pi.ai.errors import ProviderError
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.provider import Provider
from pi.ai.providers.chosen_servers import Standing
from pi.ai.providers.discovered import DiscoveredProvider
from pi.base.records import Record

# ``provider/id:thinking``, globs and half a name → models. Pure.


LEVELS: tuple[str, ...] = get_args(ThinkingLevel)

Usable: TypeAlias = Callable[[str], bool]
"""Whether there are credentials for a provider."""

_DATED = r"-\d{8}$|-\d{4}-\d{2}-\d{2}$"


class ResolvedModel(Record):
    """A model, and how much it is to think if that was said."""

    model: Model
    thinking: ThinkingLevel | None = None


def find_model(
    pattern: str, models: Sequence[Model], *, usable: Usable, provider: str | None = None
) -> ResolvedModel | None:
    """The one model that ``pattern`` means, or ``None``.

    An exact id always wins, whatever characters it has; only then is a ``:level`` looked for at
    its end. Among several, those with credentials come first.
    """
    candidates = [m for m in models if provider is None or m.provider == provider]
    model = _exact(pattern, candidates, usable)
    if model is not None:
        return ResolvedModel(model=model)
    name, _, level = pattern.rpartition(":")
    if name and level in LEVELS:
        model = _exact(name, candidates, usable) or _like(name, candidates, usable)
        return ResolvedModel(model=model, thinking=level) if model else None  # type: ignore[arg-type]
    if ":" in pattern and not any(pattern.lower() in m.id.lower() for m in candidates):
        return None  # a suffix that is no level
    model = _like(pattern, candidates, usable)
    return ResolvedModel(model=model) if model else None


def find_scope(
    patterns: Iterable[str], models: Sequence[Model], *, usable: Usable
) -> tuple[ResolvedModel, ...]:
    """The models that ``patterns`` mean together, each once, in the order of the patterns."""
    found: dict[tuple[str, str], ResolvedModel] = {}
    for pattern in patterns:
        for choice in _all_matching(pattern.strip(), models, usable):
            found.setdefault((choice.model.provider, choice.model.id), choice)
    return tuple(found.values())


def _all_matching(pattern: str, models: Sequence[Model], usable: Usable) -> Sequence[ResolvedModel]:
    if not any(mark in pattern for mark in "*?["):
        one = find_model(pattern, [m for m in models if usable(m.provider)], usable=usable)
        return (one,) if one else ()
    name, _, level = pattern.rpartition(":")
    thinking = level if name and level in LEVELS else None
    glob = (name if thinking else pattern).lower()
    return [
        ResolvedModel(model=model, thinking=thinking)  # type: ignore[arg-type]
        for model in models
        if usable(model.provider)
        and (fnmatchcase(model.id.lower(), glob) or fnmatchcase(full_name(model).lower(), glob))
    ]


def _exact(pattern: str, models: Sequence[Model], usable: Usable) -> Model | None:
    """The model of exactly that id, or ``provider/id``; letters may be large or small."""
    wanted = pattern.lower()
    full = [model for model in models if full_name(model).lower() == wanted]
    bare = [model for model in models if model.id.lower() == wanted]
    # As it was typed before large and small letters are one, and who can be asked before others.
    full.sort(key=lambda model: full_name(model) != pattern)
    bare.sort(key=lambda model: (model.id != pattern, not usable(model.provider)))
    return next(iter(full + bare), None)


def _like(pattern: str, models: Sequence[Model], usable: Usable) -> Model | None:
    """The best model with every word of ``pattern`` in its names.

    Models with credentials come first, then, if one provider alone has such, those whose own names
    have the words, then names without a date, then later names.
    """
    words = ["".join(_words(word)) for word in re.split(r"[\s/]+", pattern)]
    words = [word for word in words if word]
    if not words:
        return None
    near = [m for m in models if all(_has_word(_names(m), word) for word in words)]
    near.sort(key=lambda m: m.id, reverse=True)
    near.sort(key=lambda m: (not usable(m.provider), re.search(_DATED, m.id) is not None))
    if len({m.provider for m in near}) == 1:
        near.sort(key=lambda m: not all(_has_word(f"{m.id} {m.name}", word) for word in words))
    return next(iter(near), None)


def full_name(model: Model) -> str:
    """``provider/id``."""
    return f"{model.provider}/{model.id}"


def _names(model: Model) -> str:
    return f"{full_name(model)} {model.name}"


def _has_word(names: str, wanted: str) -> bool:
    """Whether some word begins with ``wanted``, or it and those behind it do together.

    So ``sonnet4.6`` finds ``claude-sonnet-4-6``, and no letters within words are found by chance.
    """
    words = _words(names)
    return any("".join(words[at:]).startswith(wanted) for at in range(len(words)))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


LOCAL = ("ollama", "llama.cpp", "lm-studio", "vllm")
"""Providers whose models are only known by asking a server on this machine."""


Resolver: TypeAlias = Callable[[str], Model | str | None]
"""What a name stands for: a model, or another pattern; ``None`` if it means nothing here."""


class ModelRegistry:
    """Look-ups over ``Models``; never waits, and asks nobody.

    ``read_again`` brings the models up to what the person's own file says by now.
    """

    def __init__(
        self,
        models: Models,
        *,
        offline: bool = False,
        read_again: Callable[[Models], None] = lambda models: None,
    ) -> None:
        self.models = models
        self._offline = offline
        self._read_again = read_again
        self._resolvers: tuple[Resolver, ...] = ()
        self.unlisted: dict[str, ProviderError] = {}
        """Why providers with credentials did not list their models when they were asked last."""

    def add_resolver(self, resolver: Resolver) -> Callable[[], None]:
        """Have ``resolver`` say what names mean, before patterns do; gives what ends that."""
        self._resolvers = (*self._resolvers, resolver)

        def end() -> None:
            self._resolvers = tuple(other for other in self._resolvers if other is not resolver)

        return end

    def get_all(self) -> tuple[Model, ...]:
        """Every model that is known."""
        return self.models.get_models()

    def get_available(self) -> tuple[Model, ...]:
        """Every model that can answer: its provider has credentials, its server was chosen.

        The models that come with pi are among them only where there are no others.
        """
        usable = [model for model in self.get_all() if self.is_usable(model.provider)]
        fallbacks = self._fallbacks()
        others = tuple(model for model in usable if model.provider not in fallbacks)
        return others or tuple(usable)

    def get_offered(self) -> tuple[Model, ...]:
        """Every model that the user can choose.

        Beside those that are available these are the models that come with pi, and those of
        servers that were found on this machine.
        """
        return tuple(model for model in self.get_all() if self.has_auth(model.provider))

    def _fallbacks(self) -> frozenset[str]:
        return frozenset(row.id for row in self.models.get_providers() if row.is_fallback)

    def is_usable(self, provider: str) -> bool:
        """Whether it has credentials and, if it is a server on this machine, was chosen."""
        standing = self.standing(provider)
        return self.has_auth(provider) and (standing is None or standing.state == "chosen")

    def standing(self, provider: str) -> Standing | None:
        """Who owns a server on this machine and whether it may answer; ``None`` for all others."""
        owner = self.models.get_provider(provider)
        return owner.standing() if isinstance(owner, DiscoveredProvider) else None

    def not_chosen(self) -> tuple[Standing, ...]:
        """The servers that were found on this machine and may not answer."""
        found = (self.standing(name) for name in LOCAL if self.models.get_models(name))
        return tuple(each for each in found if each is not None and each.state != "chosen")

    async def choose_server(self, model: Model, *, anew: bool = False) -> None:
        """Let the server of ``model`` answer from now on, if it is one on this machine.

        Raises ``ServerNotChosen`` if its owner is another one than when it was chosen before,
        unless it is chosen ``anew``.
        """
        owner = self.models.get_provider(model.provider)
        if isinstance(owner, DiscoveredProvider):
            await owner.choose(model.id, anew=anew)

    def has_auth(self, provider: str) -> bool:
        """Whether requests to ``provider`` have credentials to go with."""
        return self.models.is_available(provider)

    def has_configured_auth(self, model: Model) -> bool:
        """Whether requests to a model have credentials to go with."""
        return self.has_auth(model.provider)

    def key_problems(self, providers: Collection[str] | None = None) -> list[str]:
        """What is wrong with the keys of these providers, or of all: a variable that is not set.

        Providers that nobody has configured are no problem.
        """
        return [
            problem
            for row in self.models.get_providers()
            if (providers is None or row.id in providers) and not self.has_auth(row.id)
            if (problem := self.models.missing_credentials(row.id).problem)
        ]

    async def get_api_key_and_headers(self, model: Model) -> tuple[str | None, dict[str, str]]:
        """What requests to a model take along; nothing where there are no credentials."""
        access = await self.models.access(model.provider, model)
        return (None, {}) if access is None else (access.api_key, dict(access.headers))

    async def refresh(self) -> None:
        """Ask every provider for its current models; those that fail keep what they had."""
        await self.models.refresh()

    def find(self, provider: str, model_id: str) -> Model | None:
        """The model of exactly that name."""
        return self.models.get_model(provider, model_id)

    def resolve(self, pattern: str, provider: str | None = None) -> ResolvedModel | None:
        """What a person means by ``pattern``."""
        for resolver in self._resolvers if provider is None else ():
            named = resolver(pattern)
            if isinstance(named, Model):
                return ResolvedModel(model=named)
            if named is not None:
                pattern = named
                break
        owner, _, model_id = pattern.partition("/")
        if provider in (None, owner) and (exact := self.find(owner, model_id)) is not None:
            return ResolvedModel(model=exact)  # without reading what all the others have
        if provider is not None:
            return find_model(pattern, self.models.get_models(provider), usable=self.has_auth)
        # A server that was never chosen is only meant where it is named: it could call its models
        # like those of any provider.
        hidden = {standing.provider for standing in self.not_chosen()} - {owner}
        candidates = [model for model in self.get_all() if model.provider not in hidden]
        return find_model(pattern, candidates, usable=self.has_auth)

    def scope(self, patterns: Sequence[str]) -> tuple[ResolvedModel, ...]:
        """The models to cycle through."""
        if not patterns:
            return ()
        words = {word for pattern in patterns for word in (pattern, pattern.partition("/")[0])}
        unnamed = self._fallbacks() - words  # a glob over all providers does not mean them
        candidates = [m for m in self.get_all() if m.provider not in unnamed or m.id in words]
        return find_scope(patterns, candidates, usable=self.is_usable)

    def default_of(self, provider: str) -> Model | None:
        """The model that was chosen with its server, that a provider is known for, or its first."""
        rows = {row.id: row for row in self.models.get_providers()}
        models = self.models.get_models(provider)
        wanted = rows[provider].default_model if provider in rows else ""
        standing = self.standing(provider)
        if standing is not None and standing.chosen is not None:
            wanted = standing.chosen.model or wanted
        return next((model for model in models if model.id == wanted), next(iter(models), None))

    def read_again(self) -> None:
        """Know what the person has written into ``models.json`` since."""
        self._read_again(self.models)

    async def discover_local(self) -> bool:
        """Ask those who alone know their models; whether any model came of it."""
        before = len(self.get_all())
        asked = [self.models.refresh(name) for name in self.discoverable()]
        problems = await asyncio.gather(*asked)
        self.unlisted = {
            name: problem
            for found in problems
            for name, problem in found.items()
            if name not in LOCAL  # most machines run no server, which is no problem
        }
        return len(self.get_all()) > before

    def is_undiscovered(self, provider: str) -> bool:
        """Whether its models are not known because nobody has asked it yet."""
        return provider in self.discoverable() and not self.models.get_models(provider)

    def discoverable(self) -> tuple[str, ...]:
        """Those who alone know their models.

        They are the servers that may run on this machine and, unless pi is offline, gateways that
        there are credentials for.
        """
        rows = self.models.get_providers()
        return tuple(row.id for row in rows if row.id in LOCAL or self._is_gateway(row))

    def _is_gateway(self, row: Provider) -> bool:
        return row.lists_models and not self._offline and self.has_auth(row.id)
