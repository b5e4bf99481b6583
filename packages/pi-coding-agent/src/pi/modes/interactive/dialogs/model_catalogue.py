"""The models of the dialog: groups, order, and the texts of a row. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import field

from pi.ai.models.model import Model
from pi.ai.providers.rows import BUILT_IN as PROVIDERS
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.coding.models.registry import full_name
from pi.coding.port.results import ModelNotes

ALL, BUILT_IN, WITHOUT_KEY = "All", "Built in", "Without key"
RECOMMENDED = "Recommended"
USED = "Used"
_RECOMMENDED_PLACE, _LAST_PLACE = 2, 4
_ABILITIES = ("thinks", "sees")


class ModelCatalogue(Record):
    """All models with the facts needed to choose one."""

    models: tuple[Model, ...]
    usable: frozenset[str]
    """Full names of the available models."""
    current: str = ""
    default: str = ""
    scope: tuple[str, ...] = ()
    """Full names of the models in the cycle."""
    built_in: frozenset[str] = frozenset()
    """Full names of the bundled models, if others are available: they have their own tab."""
    recommended: frozenset[str] = frozenset()
    """Full names of the default models of all providers."""
    found: dict[str, str] = field(default_factory=dict)
    """Providers found on this machine and not yet selected, with a note for each."""
    notes: ModelNotes = ModelNotes()
    """Badges and the order of use, from extensions."""
    age: str = ""
    """How old the facts about the models are."""

    def tabs(self) -> tuple[str, ...]:
        """The tabs: all available models, each provider, and the unavailable models."""
        listed = self.usable - self.built_in
        providers = dict.fromkeys(m.provider for m in self.models if full_name(m) in listed)
        built_in = (BUILT_IN,) if self.built_in else ()
        others = (WITHOUT_KEY,) if len(self.usable) < len(self.models) else ()
        return (ALL, *providers, *built_in, *others)

    def under(self, tab: str, query: str = "") -> list[Model]:
        """Return the models of a tab that match the query, best first.

        Without a query, the order is: current, most used, default, recommended, others.
        """
        listed = [model for model in self.models if self._belongs(model, tab)]
        if query.strip():
            return rank(query, listed, key=lambda model: f"{full_name(model)} {model.name}")
        used = {name: position for position, name in enumerate(self.notes.used)}
        last = len(used)
        return sorted(listed, key=lambda m: (self._position(m), used.get(full_name(m), last)))

    def group(self, model: Model) -> str:
        """Return the heading above a model; none if no model of the list is recommended."""
        if not self.recommended & self.usable:
            return ""
        position = self._position(model)
        if self.notes.used and position < _RECOMMENDED_PLACE:
            return USED
        return RECOMMENDED if position < _LAST_PLACE else model.provider

    def _position(self, model: Model) -> int:
        name = full_name(model)
        order = (
            name == self.current,
            name in self.notes.used,
            name == self.default,
            name in self.recommended,
        )
        return order.index(True) if True in order else _LAST_PLACE

    def badges(self, model: Model) -> tuple[str, ...]:
        """Return the badges of a model, most important first."""
        name = full_name(model)
        server = self.found.get(model.provider, "")
        marks = (
            (bool(server), server),
            (name == self.current, "current"),
            (name == self.default, "default"),
            *((True, f"@{word}") for word in self.notes.badges.get(name, ())),
            (name in self.scope, "scoped"),
            (name not in self.usable, "no key"),
            (model.reasoning, _ABILITIES[0]),
            (model.sees_images, _ABILITIES[1]),
        )
        return tuple(mark for applies, mark in marks if applies)

    def _belongs(self, model: Model, tab: str) -> bool:
        is_usable = full_name(model) in self.usable
        if tab == WITHOUT_KEY:
            return not is_usable
        if tab == BUILT_IN or full_name(model) in self.built_in:
            return tab == BUILT_IN and full_name(model) in self.built_in
        return is_usable and tab in (ALL, model.provider)


def known_models(
    models: Sequence[Model],
    available: Collection[Model],
    *,
    offered: Collection[Model] = (),
    found: Mapping[str, str] | None = None,
    current: Model | None,
    default: tuple[str | None, str | None] = (None, None),
    scope: Sequence[Model] = (),
    notes: ModelNotes | None = None,
    age: str = "",
) -> ModelCatalogue:
    """Build the catalogue of a session.

    ``offered`` can be chosen too: models of the servers ``found`` on this machine, with a note for
    each, and bundled models.
    """
    found = dict(found or {})
    available_names = frozenset(map(full_name, available))
    local_names = frozenset(full_name(model) for model in offered if model.provider in found)
    usable = available_names | frozenset(map(full_name, offered))
    return ModelCatalogue(
        models=tuple(models),
        usable=usable,
        built_in=usable - available_names - local_names,
        recommended=frozenset(
            f"{row.id}/{row.default_model}" for row in PROVIDERS if row.default_model
        ),
        found=found,
        current=full_name(current) if current else "",
        default="/".join(part or "" for part in default),
        scope=tuple(map(full_name, scope)),
        notes=notes or ModelNotes(),
        age=age,
    )


def window(tokens: int) -> str:
    """The size of a context window: ``200k``, ``1M``."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{tokens // 1000}k"


def price(model: Model) -> str:
    """Dollars for a million tokens in and out: ``$3/$15``; empty if unknown or free."""
    cost = model.cost
    if not cost.input and not cost.output:
        return ""
    return f"${cost.input:g}/${cost.output:g}"
