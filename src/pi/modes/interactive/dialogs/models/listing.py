"""Which models are listed under which tab, and what a row says of one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pi.ai.models.model import Model
from pi.base.fuzzy import rank
from pi.base.records import Record, field
from pi.coding.models.patterns import full_name

ALL, BUILT_IN, WITHOUT_KEY = "All", "Built in", "Without key"


class Known(Record):
    """Every model, and what matters for choosing one."""

    models: tuple[Model, ...]
    usable: frozenset[str]
    """Full names of those that can be asked."""
    current: str = ""
    default: str = ""
    scope: tuple[str, ...] = ()
    """Full names of those that are cycled through."""
    built_in: frozenset[str] = frozenset()
    """Full names of those that come with pi, where others can be asked: they have their own tab."""
    found: dict[str, str] = field(default_factory=dict)
    """Providers that were found on this machine and not chosen, with what is to say of each."""

    def tabs(self) -> tuple[str, ...]:
        """All that can be asked, each of their providers, and those that cannot."""
        listed = self.usable - self.built_in
        providers = dict.fromkeys(m.provider for m in self.models if full_name(m) in listed)
        built_in = (BUILT_IN,) if self.built_in else ()
        others = (WITHOUT_KEY,) if len(self.usable) < len(self.models) else ()
        return (ALL, *providers, *built_in, *others)

    def under(self, tab: str, query: str = "") -> list[Model]:
        """The models of a tab that fit the query, best first; without one the current is first."""
        listed = [model for model in self.models if self._belongs(model, tab)]
        if query.strip():
            return rank(query, listed, key=lambda model: f"{full_name(model)} {model.name}")
        return sorted(listed, key=lambda model: full_name(model) != self.current)

    def badges(self, model: Model) -> tuple[str, ...]:
        """What is special about a model, what matters most first."""
        name = full_name(model)
        found = self.found.get(model.provider, "")
        marks = (
            (bool(found), found),
            (name == self.current, "current"),
            (name == self.default, "default"),
            (name in self.scope, "scoped"),
            (name not in self.usable, "no key"),
            (model.reasoning, "thinks"),
            (model.sees_images, "sees"),
        )
        return tuple(mark for is_so, mark in marks if is_so)

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
) -> Known:
    """What a session knows of its models.

    ``offered`` can be chosen too: models of the servers ``found`` on this machine, with what is to
    say of each, and those that come with pi.
    """
    found = dict(found or {})
    answering = frozenset(map(full_name, available))
    here = frozenset(full_name(model) for model in offered if model.provider in found)
    usable = answering | frozenset(map(full_name, offered))
    return Known(
        models=tuple(models),
        usable=usable,
        built_in=usable - answering - here,
        found=found,
        current=full_name(current) if current else "",
        default="/".join(part or "" for part in default),
        scope=tuple(map(full_name, scope)),
    )


def window(tokens: int) -> str:
    """The size of a context window: ``200k``, ``1M``."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{tokens // 1000}k"
