"""Which models are listed under which tab, and what a row says of one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pi.ai.models.model import Model
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.coding.models.patterns import full_name

ALL, WITHOUT_KEY = "All", "Without key"


class Known(Record):
    """Every model, and what matters for choosing one."""

    models: tuple[Model, ...]
    usable: frozenset[str]
    """Full names of those that can be asked."""
    current: str = ""
    default: str = ""
    scope: tuple[str, ...] = ()
    """Full names of those that are cycled through."""

    def tabs(self) -> tuple[str, ...]:
        """All that can be asked, each of their providers, and those that cannot."""
        providers = dict.fromkeys(m.provider for m in self.models if full_name(m) in self.usable)
        others = (WITHOUT_KEY,) if len(self.usable) < len(self.models) else ()
        return (ALL, *providers, *others)

    def under(self, tab: str, query: str = "") -> list[Model]:
        """The models of a tab that fit the query, best first; without one the current is first."""
        listed = [model for model in self.models if self._belongs(model, tab)]
        if query.strip():
            return rank(query, listed, key=lambda model: f"{full_name(model)} {model.name}")
        return sorted(listed, key=lambda model: full_name(model) != self.current)

    def badges(self, model: Model) -> tuple[str, ...]:
        """What is special about a model, what matters most first."""
        name = full_name(model)
        marks = (
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
        return is_usable and tab in (ALL, model.provider)


def known_models(
    models: Sequence[Model],
    available: Collection[Model],
    *,
    current: Model | None,
    default: tuple[str | None, str | None] = (None, None),
    scope: Sequence[Model] = (),
) -> Known:
    """What a session knows of its models."""
    return Known(
        models=tuple(models),
        usable=frozenset(map(full_name, available)),
        current=full_name(current) if current else "",
        default="/".join(part or "" for part in default),
        scope=tuple(map(full_name, scope)),
    )


def window(tokens: int) -> str:
    """The size of a context window: ``200k``, ``1M``."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{tokens // 1000}k"
