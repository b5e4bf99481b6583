"""What sources say about models since the bundled catalog was made.

``models-update.json`` holds facts by provider and source. They can change names, limits, prices and
abilities of known models, and add models; by its form the file cannot change a base URL, headers or
a protocol: a new model has those of the bundled model that it resembles most. The file is a cache:
an unreadable one, and facts older than the bundled catalog, are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from pi.ai.models.model import Model, ModelCost, PriceTier
from pi.base.files import FileAccessError, read_if_exists
from pi.base.records import UNREADABLE, Record, replace

LARGEST = 16 * 1024 * 1024
"""Bytes; a file of all providers has some hundred thousand."""

Limit: TypeAlias = Annotated[int, Meta(ge=1, le=100_000_000)]
Price: TypeAlias = Annotated[float, Meta(ge=0, le=100_000)]
"""US dollars per million tokens."""
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class PriceFacts(Record):
    """Prices as far as a source states them."""

    input: Price | UnsetType = UNSET
    output: Price | UnsetType = UNSET
    cache_read: Price | UnsetType = UNSET
    cache_write: Price | UnsetType = UNSET


class TierFacts(PriceFacts):
    """Prices of requests above a number of tokens."""

    input_tokens_above: Limit


class CostFacts(PriceFacts):
    """Prices with their tiers."""

    tiers: tuple[TierFacts, ...] | UnsetType = UNSET


class ModelFacts(Record):
    """What a source states about one model. There are no other fields that could be changed."""

    name: Name | UnsetType = UNSET
    reasoning: bool | UnsetType = UNSET
    input: tuple[Literal["text", "image"], ...] | UnsetType = UNSET
    context_window: Limit | UnsetType = UNSET
    max_tokens: Limit | UnsetType = UNSET
    cost: CostFacts | UnsetType = UNSET


Facts: TypeAlias = Mapping[str, ModelFacts]
"""Facts by the id of the model."""


class SourceState(Record):
    """One source of the last update."""

    name: str
    checked_at: int = 0
    """When it answered last, in milliseconds since 1970."""
    error: str = ""
    """Why it did not answer since."""


class SourceFacts(Record):
    """The facts of one source about one provider."""

    source: str
    models: dict[str, ModelFacts] = field(default_factory=dict)


class UpdateFile(Record):
    """The content of the file; the facts of a provider are decoded when they are needed."""

    next_at: int = 0
    """When the next update in the background is due."""
    sources: tuple[SourceState, ...] = ()
    """In the order in which they count."""
    providers: dict[str, msgspec.Raw] = field(default_factory=dict)

    def facts_of(self, provider: str) -> tuple[SourceFacts, ...]:
        """Return the facts about ``provider``; none if they cannot be read."""
        try:
            return msgspec.json.decode(
                self.providers.get(provider, b"[]"), type=tuple[SourceFacts, ...]
            )
        except UNREADABLE:
            return ()

    @property
    def checked_at(self) -> int:
        """When a source answered last; 0 if none did."""
        return max((source.checked_at for source in self.sources), default=0)


def read_update(path: Path) -> UpdateFile:
    """Return the content of the file; an empty one if it is missing or unreadable."""
    try:
        return msgspec.json.decode(
            read_if_exists(path, max_bytes=LARGEST) or b"{}", type=UpdateFile
        )
    except (FileAccessError, *UNREADABLE):
        return UpdateFile()


def updated(bundled: tuple[Model, ...], facts: Sequence[Facts]) -> tuple[Model, ...]:
    """Return ``bundled`` with ``facts``, of which the first that state something count."""
    models = {model.id: model for model in bundled}
    if not bundled:
        return ()
    for source in reversed(facts):
        for model_id, stated in source.items():
            known = models.get(model_id) or _like(model_id, bundled)
            models[model_id] = with_facts(known, stated)
    return tuple(models.values())


def with_facts(model: Model, facts: ModelFacts) -> Model:
    """Return ``model`` with what ``facts`` state."""
    changes = {
        name: value
        for name in ("name", "reasoning", "input", "context_window", "max_tokens")
        if (value := getattr(facts, name)) is not UNSET
    }
    if facts.cost is not UNSET:
        changes["cost"] = _priced(model.cost, facts.cost)
    changed = replace(model, **changes)
    return replace(changed, max_tokens=min(changed.max_tokens, changed.context_window))


def _priced(cost: ModelCost, facts: CostFacts) -> ModelCost:
    changes = {
        name: value
        for name in ("input", "output", "cache_read", "cache_write")
        if (value := getattr(facts, name)) is not UNSET
    }
    if facts.tiers is not UNSET:
        changes["tiers"] = tuple(
            PriceTier(
                input_tokens_above=tier.input_tokens_above,
                **{
                    name: getattr(cost, name) if value is UNSET else value
                    for name in ("input", "output", "cache_read", "cache_write")
                    for value in [getattr(tier, name)]
                },
            )
            for tier in facts.tiers
        )
    return replace(cost, **changes)


def _like(model_id: str, bundled: tuple[Model, ...]) -> Model:
    """Return a model with that id, and the rest of the bundled model with the most similar id.

    Its price is unknown. The longest common beginning decides, then the later id: ids count up.
    """
    similar = max(bundled, key=lambda model: (_common(model.id, model_id), model.id))
    return replace(similar, id=model_id, name=model_id, cost=ModelCost())


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def differing(bundled: Iterable[Model], facts: Facts) -> dict[str, ModelFacts]:
    """Return the facts that change a bundled model or add one."""
    models = {model.id: model for model in bundled}
    return {
        model_id: stated
        for model_id, stated in facts.items()
        if (known := models.get(model_id)) is None or with_facts(known, stated) != known
    }
