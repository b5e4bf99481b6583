"""Updates the catalog: asks the sources, and writes what they state about models.

Sources are, in the order in which they count: files and URLs of the user, the lists of the
providers that have credentials, and public lists. Each is limited in size and time, and validated
as a whole: a source that does not answer, or with something else, leaves its facts as they were.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi.ai.collection import Models
from pi.ai.errors import ProviderError
from pi.ai.models.catalog import bundled_models
from pi.ai.models.model import Model
from pi.ai.models.public_lists import (
    Facts,
    Listing,
    from_models_dev,
    from_openrouter,
    read_document,
)
from pi.ai.models.updates import (
    LARGEST,
    ModelFacts,
    Name,
    SourceFacts,
    SourceState,
    UpdateFile,
    differing,
    read_update,
)
from pi.ai.provider import Provider
from pi.ai.providers.model_lists import list_path, list_request, read_list
from pi.base.errors import PiError
from pi.base.files import expand_home, private_directory, read_if_exists, replace_file
from pi.base.formats import BadFormat, parse_jsonc
from pi.base.locks import DirectoryLock
from pi.base.records import Record, replace

if TYPE_CHECKING:
    from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)

EVERY_MS = 24 * 3_600_000
AGAIN_MS = 3_600_000
"""Milliseconds until the next attempt if no source has answered."""
SECONDS = 20.0
"""Time limit of one source."""
MAX_MODELS = 5000
"""Models of one provider; the largest list has a few hundred."""

PROVIDERS = "providers"
PUBLIC: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Listing]]] = {
    "models.dev": ("https://models.dev/api.json", from_models_dev),
    "openrouter": ("https://openrouter.ai/api/v1/models", from_openrouter),
}
"""Public lists by name: URL and parser."""
DEFAULT_SOURCES = (PROVIDERS, *PUBLIC)

Stated = dict[str, dict[str, ModelFacts]]
"""Valid facts by provider and model."""


class BadSource(PiError):
    """A source that did not give valid facts."""


class SourceResult(Record):
    """What one source answered."""

    name: str
    models: int = 0
    """Models of the catalog that it states something about, and new ones."""
    changes: int = 0
    """Those of them that differ from the bundled catalog."""
    error: str = ""


class CatalogUpdate:
    """Updates ``path`` for the providers of ``models``."""

    def __init__(
        self,
        models: Models,
        path: Path,
        *,
        sources: Sequence[str] = DEFAULT_SOURCES,
        offline: bool = False,
        cwd: Path | None = None,
    ) -> None:
        self._models = models
        self._path = path
        self._sources = tuple(dict.fromkeys(sources))
        self._offline = offline
        self._cwd = cwd or Path.cwd()

    async def run_if_due(self, services: Services) -> None:
        """Update if the last time was a day ago. Never raises, and can be cancelled at any time."""
        now = services.clock.now_ms()
        if self._offline or now < read_update(self._path).next_at:
            return
        try:
            # A password manager must not ask for its password because of a list of models.
            await self.run(services, runs_commands=False)
        except Exception as error:
            log.info("the models could not be updated: %s", error)

    async def run(
        self, services: Services, *, runs_commands: bool = True
    ) -> tuple[SourceResult, ...]:
        """Ask all sources and write what they state; returns their results in order."""
        started = services.clock.now_ms()
        rows = {row.id: row for row in self._models.get_providers()}
        asked = [
            source
            for name in self._sources
            for source in self._named(name, rows, services, runs_commands=runs_commands)
        ]
        answers = await asyncio.gather(*(_answered(source) for source in asked))
        results, stated = [], {}
        for source, answer in zip(asked, answers, strict=True):
            if isinstance(answer, str):
                results.append(SourceResult(name=source.name, error=answer))
                continue
            stated[source.name] = answer
            changed = {name: _differing(rows.get(name), facts) for name, facts in answer.items()}
            results.append(
                SourceResult(
                    name=source.name,
                    models=sum(map(len, answer.values())),
                    changes=sum(map(len, changed.values())),
                )
            )
        await asyncio.to_thread(self._write, results, stated, rows, started)
        return tuple(results)

    def _named(
        self, name: str, rows: Mapping[str, Provider], services: Services, *, runs_commands: bool
    ) -> Iterable[_Source]:
        """Yield the sources that an entry of the setting means."""
        if name == PROVIDERS:
            for row in rows.values():
                if self._can_list(row):
                    may_ask = runs_commands or not self._models.runs_command(row.id)
                    ask = partial(self._of, row, services) if may_ask else _not_asked
                    yield _Source(f"{PROVIDERS}:{row.id}", ask)
        elif name in PUBLIC:
            url, read = PUBLIC[name]
            yield _Source(name, partial(self._from_url, url, read, rows, services))
        elif name.startswith(("http://", "https://")):
            yield _Source(name, partial(self._from_url, name, read_document, rows, services))
        else:
            yield _Source(name, partial(self._from_file, name, rows))

    def _can_list(self, row: Provider) -> bool:
        # A provider without bundled models is asked whenever the models are listed.
        if self._offline or not bundled_models(row.catalog or row.id):
            return False
        default = self._default_of(row)
        if default is None or list_path(default) is None:
            return False
        return self._models.is_available(row.id)

    async def _of(self, row: Provider, services: Services) -> Stated:
        model = self._default_of(row)
        access = None if model is None else await self._models.access(row.id, model)
        if model is None or access is None:
            raise BadSource("there are no credentials")
        if (request := list_request(model, access)) is None:
            raise BadSource("its address is not known")
        document = await _fetch(services, request.url, request.headers)
        known = [model.id for model in self._models.get_models(row.id)]
        return _valid({row.id: read_list(row.id, document, known)}, {row.id: row})

    def _default_of(self, row: Provider) -> Model | None:
        """Return the model that determines the protocol of the provider's list."""
        return self._models.get_model(row.id, row.default_model)

    async def _from_url(
        self,
        url: str,
        read: Callable[[Any], Listing],
        rows: Mapping[str, Provider],
        services: Services,
    ) -> Stated:
        if self._offline:
            raise BadSource("pi is offline")
        return _valid(read(await _fetch(services, url)), rows)

    async def _from_file(self, name: str, rows: Mapping[str, Provider]) -> Stated:
        path = self._cwd / expand_home(name)
        data = await asyncio.to_thread(lambda: read_if_exists(path, max_bytes=LARGEST))
        if data is None:
            raise BadSource("there is no such file")
        return _valid(read_document(parse_jsonc(data.decode("utf-8", "replace"))), rows)

    def _write(
        self,
        results: Sequence[SourceResult],
        stated: Mapping[str, Stated],
        rows: Mapping[str, Provider],
        started: int,
    ) -> None:
        private_directory(self._path.parent)
        with DirectoryLock(self._path):
            old = read_update(self._path)
            if old.checked_at > started:
                return  # another process has newer answers
            content = merged_file(old, results, stated, rows, started)
            replace_file(self._path, msgspec.json.encode(content))


class _Source(Record, kw_only=False):
    name: str
    ask: Callable[[], Awaitable[Stated]]


async def _not_asked() -> Stated:
    """Fail, as a source that does not answer: its facts are kept."""
    raise BadSource("its key is the output of a command")


async def _answered(source: _Source) -> Stated | str:
    """Return the facts of a source, or why there are none."""
    try:
        async with asyncio.timeout(SECONDS):
            return await source.ask()
    except TimeoutError:
        return f"no answer within {SECONDS:g} seconds"
    except BadFormat as error:
        return error.reason
    except (PiError, ProviderError) as error:
        return error.message
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        # The parsers expect the form of the list, and this is not it.
        log.info("%s is no list of models: %r", source.name, error)
        return "it is not a list of models"


async def _fetch(services: Services, url: str, headers: tuple[tuple[str, str], ...] = ()) -> Any:
    # Deferred: no HTTP client before the first request.
    from pi.ai.http.errors import HttpError
    from pi.ai.http.request import HttpRequest

    try:
        redirects = 0 if headers else 3  # a key is sent to one address only
        request = HttpRequest(url=url, headers=headers, redirects=redirects)
        response = await services.http.request(request, limit=LARGEST)
        if response.status != 200:
            raise BadSource(f"status {response.status}")
        return response.json()
    except HttpError as error:
        raise BadSource(error.message) from error


def _valid(listing: Listing, rows: Mapping[str, Provider]) -> Stated:
    """Return the facts about known providers; raises ``BadSource`` if there is nothing valid.

    Invalid entries are left out, as long as most are valid: a list in another unit or form must
    not change a part of the models.
    """
    stated: Stated = {}
    invalid = 0
    for provider, models in listing.items():
        if provider not in rows:
            continue
        if len(models) > MAX_MODELS:
            raise BadSource(f"it lists {len(models)} models of {provider}")
        for model_id, facts in models.items():
            try:
                name = msgspec.convert(model_id, Name)
                valid = msgspec.convert(_without_silence(facts), ModelFacts)
            except msgspec.ValidationError as error:
                log.info("%s/%r: %s", provider, model_id, error)
                invalid += 1
            else:
                stated.setdefault(provider, {})[name] = valid
    if invalid and invalid >= sum(map(len, stated.values())):
        raise BadSource("most of its entries are invalid")
    if not stated:
        raise BadSource("it lists no model of a known provider")
    return stated


def _without_silence(facts: Facts) -> Facts:
    """Return ``facts`` without zero prices: they state that tokens are not what is counted."""
    cost = facts.get("cost")
    if not isinstance(cost, dict) or cost.get("input") or cost.get("output"):
        return facts
    return {name: value for name, value in facts.items() if name != "cost"}


def _differing(row: Provider | None, facts: Mapping[str, ModelFacts]) -> dict[str, ModelFacts]:
    return {} if row is None else differing(_bundled(row), facts)


def _bundled(row: Provider) -> tuple[Model, ...]:
    return bundled_models(row.catalog or row.id)


def merged_file(
    old: UpdateFile,
    results: Sequence[SourceResult],
    stated: Mapping[str, Stated],
    rows: Mapping[str, Provider],
    now: int,
) -> UpdateFile:
    """Return the new content: the new facts, and the old ones of sources that failed."""
    states = {state.name: state for state in old.sources}
    sources = tuple(
        replace(states.get(result.name, SourceState(name=result.name)), error=result.error)
        if result.error
        else SourceState(name=result.name, checked_at=now)
        for result in results
    )
    kept = {result.name for result in results if result.error}
    providers: dict[str, msgspec.Raw] = {}
    names = {*old.providers, *(name for facts in stated.values() for name in facts)}
    for provider in sorted(names):
        entries = [entry for entry in old.facts_of(provider) if entry.source in kept]
        for source, facts in stated.items():
            if changed := _differing(rows.get(provider), facts.get(provider, {})):
                entries.append(SourceFacts(source=source, models=changed))
        if entries:
            providers[provider] = msgspec.Raw(msgspec.json.encode(entries))
    wait = EVERY_MS if stated else AGAIN_MS
    return UpdateFile(next_at=now + wait, sources=sources, providers=providers)
