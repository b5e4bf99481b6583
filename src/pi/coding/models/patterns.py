"""``provider/id:thinking``, globs and half a name → models. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias, get_args

from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record

LEVELS: tuple[str, ...] = get_args(ThinkingLevel)

Usable: TypeAlias = Callable[[str], bool]
"""Whether there are credentials for a provider."""

_DATED = r"-\d{8}$|-\d{4}-\d{2}-\d{2}$"


class Choice(Record):
    """A model, and how much it is to think if that was said."""

    model: Model
    thinking: ThinkingLevel | None = None


def find_model(
    pattern: str, models: Sequence[Model], *, usable: Usable, provider: str | None = None
) -> Choice | None:
    """The one model that ``pattern`` means, or ``None``.

    An exact id always wins, whatever characters it has; only then is a ``:level`` looked for at
    its end. Among several, those with credentials come first.
    """
    candidates = [m for m in models if provider is None or m.provider == provider]
    model = _exact(pattern, candidates, usable)
    if model is not None:
        return Choice(model=model)
    name, _, level = pattern.rpartition(":")
    if name and level in LEVELS:
        model = _exact(name, candidates, usable) or _like(name, candidates, usable)
        return Choice(model=model, thinking=level) if model else None  # type: ignore[arg-type]
    if ":" in pattern and not any(pattern.lower() in m.id.lower() for m in candidates):
        return None  # a suffix that is no level
    model = _like(pattern, candidates, usable)
    return Choice(model=model) if model else None


def find_scope(
    patterns: Iterable[str], models: Sequence[Model], *, usable: Usable
) -> tuple[Choice, ...]:
    """The models that ``patterns`` mean together, each once, in the order of the patterns."""
    found: dict[tuple[str, str], Choice] = {}
    for pattern in patterns:
        for choice in _all_matching(pattern.strip(), models, usable):
            found.setdefault((choice.model.provider, choice.model.id), choice)
    return tuple(found.values())


def _all_matching(pattern: str, models: Sequence[Model], usable: Usable) -> Sequence[Choice]:
    if not any(mark in pattern for mark in "*?["):
        one = find_model(pattern, [m for m in models if usable(m.provider)], usable=usable)
        return (one,) if one else ()
    name, _, level = pattern.rpartition(":")
    thinking = level if name and level in LEVELS else None
    glob = (name if thinking else pattern).lower()
    return [
        Choice(model=model, thinking=thinking)  # type: ignore[arg-type]
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
