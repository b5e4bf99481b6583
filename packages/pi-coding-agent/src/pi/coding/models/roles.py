"""Model roles: names such as ``smol`` or ``plan`` for the models that do a kind of work. Pure.

A role is written ``@smol`` or ``pi/smol``, with a thinking level ``@smol:low``. Its value is a
model pattern, several of them in order of preference, or another role. The caller looks up models;
nothing is read or requested here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import field

from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel, clamp_level
from pi.base.records import Record
from pi.coding.models.registry import LEVELS, ResolvedModel, writes_texts

DEFAULT = "default"
INHERIT = "inherit"
"""The level of a role that uses the level of the session."""

ROLES: dict[str, str] = {
    DEFAULT: "the model of the session",
    "smol": "small and fast, for background work",
    "slow": "thorough, for hard problems",
    "vision": "looks at pictures when the model of the session cannot",
    "plan": "plan mode",
    "commit": "commit messages",
    "tiny": "titles and other one-line answers",
    "task": "sub-agents",
    "advisor": "reviews the work of the session",
}
"""The roles that pi itself uses."""

FALLBACKS: dict[str, str] = {"tiny": "smol", "commit": "smol", "plan": "slow", "advisor": "slow"}
"""Roles whose models follow those of the role itself; the last fallback is the default."""

OVERRIDES: dict[str, str] = {
    "smol": "PI_SMOL_MODEL",
    "slow": "PI_SLOW_MODEL",
    "plan": "PI_PLAN_MODEL",
    "tiny": "PI_TINY_MODEL",
}
"""Variables that set a role for one run; a flag takes precedence."""

FindModel: TypeAlias = Callable[[str], ResolvedModel | None]
"""Returns the model of a pattern, as ``ModelRegistry.resolve`` does."""

_REFERENCE = re.compile(r"(?:@|pi/)([A-Za-z][\w-]*)(?::([a-z]+))?")


class RoleSettings(Record):
    """The roles as configured."""

    roles: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """``modelRoles``: the patterns of each role."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values for this run only, from flags and variables."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """``modelTags``: descriptions of custom roles."""
    cycle_order: tuple[str, ...] = ()
    """``cycleOrder``: the roles that the cycle key goes through."""

    @property
    def names(self) -> tuple[str, ...]:
        """All roles: pi's own, then configured and tagged ones."""
        return tuple(dict.fromkeys((*ROLES, *self.roles, *self.tags, *self.overrides)))

    def patterns(self, role: str) -> tuple[str, ...]:
        """The patterns of a role itself, best first; a text may contain several, with commas."""
        value = self.overrides.get(role) or self.roles.get(role) or ()
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(part.strip() for part in parts if part.strip())


class RoleReference(Record):
    """A role as it is written in place of a model."""

    role: str
    thinking: ThinkingLevel | None = None


class RoleModel(Record):
    """A model for a role."""

    role: str
    """The requested role."""
    model: Model
    thinking: ThinkingLevel | None = None
    """The level of the role; ``None`` inherits the one of the session."""
    via: tuple[str, ...] = ()
    """The roles that led to the model, if the role refers to others or has no model."""


class RoleResolution(Record):
    """The models of a role, best first, and the patterns that match none."""

    models: tuple[RoleModel, ...] = ()
    unknown: tuple[str, ...] = ()
    """Patterns that match no model. They may name models of a provider that was not queried yet:
    query it and resolve again."""
    problem: str = ""
    """Why a reference is invalid: an unknown role, or a cycle."""


def parse_role(text: str) -> RoleReference | None:
    """Return the role that ``text`` names; ``None`` if it is a model pattern."""
    match = _REFERENCE.fullmatch(text.strip())
    if match is None or (match[2] and match[2] not in (*LEVELS, INHERIT)):
        return None
    level = match[2] if match[2] in LEVELS else None
    return RoleReference(role=match[1], thinking=level)  # type: ignore[arg-type]


def configured_roles(
    settings: Mapping[str, Any], flags: Mapping[str, bool | str], environ: Mapping[str, str]
) -> RoleSettings:
    """Return the roles of the merged settings, with overrides by flags and variables.

    Values of other types than expected are ignored.
    """
    roles = _as_dict(settings.get("modelRoles"))
    providers = settings.get("providers")
    if isinstance(providers, Mapping) and (tiny := providers.get("tinyModel")):
        roles.setdefault("tiny", tiny)
    patterns = {name: value for name, value in roles.items() if _is_pattern(value)}
    tags = _as_dict(settings.get("modelTags"))
    order = settings.get("cycleOrder")
    from_flags = {role: str(flags[role]) for role in OVERRIDES if flags.get(role)}
    return RoleSettings(
        roles=patterns,
        overrides=role_overrides(from_flags, environ),
        tags={name: str(text) for name, text in tags.items()},
        cycle_order=tuple(map(str, order)) if isinstance(order, Sequence) else (),
    )


def _as_dict(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _is_pattern(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, Sequence) and all(isinstance(pattern, str) for pattern in value)


def role_overrides(flags: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the roles that flags and variables set for this run."""
    named = {role: environ[name] for role, name in OVERRIDES.items() if environ.get(name)}
    return {**named, **{role: value for role, value in flags.items() if value}}


def resolve_role(
    role: str,
    settings: RoleSettings,
    find: FindModel,
    *,
    current: ResolvedModel | None = None,
    thinking: ThinkingLevel | None = None,
) -> RoleResolution:
    """Return the models for ``role``: its own, those of its fallback role, then ``current``.

    Background work uses the next model when one fails. ``thinking`` is the level of the reference
    and takes precedence over the role's own. Only models with the ability count: for ``vision``
    those that accept images, and for no role but the default the scripted tour.
    """
    walk = _Walk(settings, find, current)
    models = tuple(walk.models(role, thinking, ()))
    if role == "vision":
        models = tuple(candidate for candidate in models if candidate.model.sees_images)
    if role != DEFAULT:
        models = tuple(candidate for candidate in models if writes_texts(candidate.model))
    unique: dict[tuple[str, str], RoleModel] = {}
    for candidate in models:
        level = candidate.thinking and clamp_level(candidate.model, candidate.thinking)
        chosen = RoleModel(role=role, model=candidate.model, thinking=level, via=candidate.via)
        unique.setdefault((candidate.model.provider, candidate.model.id), chosen)
    return RoleResolution(
        models=tuple(unique.values()), unknown=tuple(walk.unknown), problem=walk.problem
    )


class _Walk:
    """Follows the values of roles; every role is visited once."""

    def __init__(
        self, settings: RoleSettings, find: FindModel, current: ResolvedModel | None
    ) -> None:
        self._settings = settings
        self._find = find
        self._current = current
        self.unknown: dict[str, None] = {}
        self.problem = ""

    def models(
        self, role: str, thinking: ThinkingLevel | None, path: tuple[str, ...]
    ) -> Iterator[RoleModel]:
        """Yield the candidates for ``role``; ``thinking`` takes precedence over their levels."""
        if role in path:
            self.problem = f"The roles refer to each other: {' → '.join((*path, role))}."
            return
        if role not in self._settings.names:
            self.problem = f"There is no role {role!r}."
            return
        path = (*path, role)
        for pattern in self._settings.patterns(role):
            yield from self._of_pattern(pattern, thinking, path)
        if role == DEFAULT:
            if self._current is not None:
                level = thinking or self._current.thinking
                yield RoleModel(role=role, model=self._current.model, thinking=level, via=path)
            return
        fallback = FALLBACKS.get(role, DEFAULT)
        if fallback not in path:
            yield from self.models(fallback, thinking, path)

    def _of_pattern(
        self, pattern: str, thinking: ThinkingLevel | None, path: tuple[str, ...]
    ) -> Iterator[RoleModel]:
        reference = parse_role(pattern)
        if reference is not None:
            yield from self.models(reference.role, thinking or reference.thinking, path)
            return
        choice = self._find(pattern.removesuffix(f":{INHERIT}"))
        if choice is None:
            self.unknown[pattern] = None
            return
        yield RoleModel(
            role=path[0], model=choice.model, thinking=thinking or choice.thinking, via=path
        )


def next_role(
    settings: RoleSettings,
    current: str,
    find: FindModel,
    *,
    step: int = 1,
    session: ResolvedModel | None = None,
) -> RoleModel | None:
    """Return the model to switch to when cycling; each role keeps its own level.

    Roles without a model of their own are skipped; ``None`` if there is nothing to switch to.
    """
    order = settings.cycle_order or tuple(name for name in settings.names if name != "vision")
    ready: list[RoleModel] = []
    for role in dict.fromkeys(order):
        if role != DEFAULT and not settings.patterns(role):
            continue
        answer = resolve_role(role, settings, find, current=session)
        ready += answer.models[:1]
    names = [role_model.role for role_model in ready]
    if not names or names == [current]:
        return None
    position = names.index(current) if current in names else -1 if step > 0 else 0
    return ready[(position + step) % len(ready)]
