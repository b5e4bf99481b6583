"""Resources for extensions: loading, and kinds and sources that extensions add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi.base.records import replace
from pi.coding.bus import Owner
from pi.coding.extension_host.contributions.registries import Registries
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Registration, SessionLink
from pi.coding.resources import kinds
from pi.coding.resources.discovery import Resources
from pi.coding.resources.kinds import (
    Find,
    Key,
    Parse,
    ResourceItem,
    ResourceKind,
    ResourceSource,
    load_kind,
)
from pi.coding.resources.rules import RULE_SOURCES, RULES
from pi.coding.resources.sources import SourceInfo

OWN = 100
"""Priority of the resources that the session itself uses."""


def _item(key: str, value: Any, source: SourceInfo) -> ResourceItem:
    return ResourceItem(
        key=key,
        value=value,
        path=Path(source.path),
        source=source.source,
        scope=source.scope,
        priority=OWN,
    )


def _skills(resources: Resources) -> Iterator[ResourceItem]:
    return (_item(entry.skill.name, entry.skill, entry.source) for entry in resources.skills)


def _prompts(resources: Resources) -> Iterator[ResourceItem]:
    return (_item(template.name, template, template.source) for template in resources.prompts)


DISCOVERED: dict[str, Callable[[Resources], Iterator[ResourceItem]]] = {
    "skills": _skills,
    "prompts": _prompts,
}
"""Kinds that every session discovers for its own use."""


BUILT_IN = {kind.name: kind for kind in (RULES, kinds.SKILLS, kinds.PROMPTS)}
"""Kinds that exist without any extension."""


class ExtensionResources:
    """Rules, skills, prompts, and kinds that extensions add. Trust applies to all of them."""

    def __init__(
        self,
        link: SessionLink,
        registries: Registries,
        owner: Owner,
        report: Callable[[str], None],
    ) -> None:
        self._link = link
        self._keep = link.scope.register
        self._registries = registries
        self._owner = owner
        self._report = report

    def load(self, kind: str) -> tuple[ResourceItem, ...]:
        """Every resource of a kind, highest priority first, shadowed ones included.

        For skills and prompts, those of the session come first, then those that extensions add.
        """
        workspace = self._link.session.workspace
        own = tuple(DISCOVERED[kind](workspace.resources)) if kind in DISCOVERED else ()
        used = {item.key for item in own}
        items = load_kind(self._kind(kind), self._sources(kind), workspace.where, self._warn)
        return own + tuple(
            replace(item, shadowed=item.shadowed or item.key in used) for item in items
        )

    def add_kind(self, kind: str, parse: Parse, key: Key) -> Registration:
        """Add a kind: ``parse(text, path)`` returns a value, ``key(value)`` its name."""
        resource_kind = ResourceKind(name=kind, parse=parse, key=key)
        return self._keep(self._registries.resource_kinds.add(kind, resource_kind, self._owner))

    def add_source(self, kind: str, find: Find, *, priority: int = 0) -> Registration:
        """Add paths in which a kind is searched, from ``find(where)``; higher priority wins."""
        source = ResourceSource(kind=kind, name=self._owner.name, find=find, priority=priority)
        return self._keep(self._registries.resource_sources.add(source, self._owner))

    def _kind(self, kind: str) -> ResourceKind:
        resource_kind = self._registries.resource_kinds.get(kind) or BUILT_IN.get(kind)
        if resource_kind is None:
            raise ExtensionError(
                f"Unknown kind of resource {kind!r}.",
                hint="Register it with ctx.resources.add_kind.",
            )
        return resource_kind

    def _sources(self, kind: str) -> Iterator[ResourceSource]:
        own = reversed(self._registries.resource_sources.values)  # later ranks first
        sources = (*own, *RULE_SOURCES)
        yield from (source for source in sources if source.kind == kind)

    def _warn(self, text: str) -> None:
        if text not in self._registries.reported:
            self._registries.reported.add(text)
            self._report(text)
