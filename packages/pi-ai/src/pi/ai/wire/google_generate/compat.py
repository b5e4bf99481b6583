"""What the models accept: levels, budgets, signatures, schemas. Pure."""

from __future__ import annotations

import re

from pi.ai.models.model import Model
from pi.base.records import Record

_FIRST_OF_THE_NEW = 3
"""Gemini 3 introduced call ids, pictures inside results, checked signatures and thinking levels."""


class Compat(Record):
    """How requests to one model differ from those to another."""

    call_ids: bool
    """Calls and their results carry ids."""
    images_in_results: bool
    """A tool result may contain pictures; else they follow in a message of their own."""
    checks_signatures: bool
    """A call of the current turn is rejected without a thought signature."""
    thinking_levels: bool
    """Thinking is set by level, not by a number of tokens."""
    thinking_budget: tuple[int, int]
    """Minimum and maximum of the thinking budget; a minimum of 0 means that it can be off."""
    json_schema: bool
    """Tools are declared with JSON Schema; else with Google's subset of OpenAPI."""


def compat_of(model: Model) -> Compat:
    """Return the capabilities of ``model``.

    The flag ``supportsParametersJsonSchema`` is false for servers that support only the older way
    to declare tools.
    """
    compat = model.compat if isinstance(model.compat, dict) else {}
    name = model.id.lower().rpartition("/")[2]
    generation = _gemini_generation(name)
    new = generation is not None and generation >= _FIRST_OF_THE_NEW
    return Compat(
        call_ids=new,
        images_in_results=new or (generation is None and not name.startswith("gemma")),
        checks_signatures=new,
        thinking_levels=new or _has_level_words(model),
        thinking_budget=_budget_limits(name),
        json_schema=compat.get("supportsParametersJsonSchema") is not False,
    )


def _gemini_generation(name: str) -> int | None:
    """Return the first number of a Gemini's name; an alias without one (``…-latest``) is a new
    model."""
    if not name.startswith("gemini-"):
        return None
    number = re.search(r"\d+", name)
    return int(number[0]) if number else _FIRST_OF_THE_NEW


def _has_level_words(model: Model) -> bool:
    return isinstance(model.thinking_level_map, dict) and any(model.thinking_level_map.values())


def _budget_limits(name: str) -> tuple[int, int]:
    """Return Google's documented limits for Gemini 2.5, whose Pro cannot stop thinking."""
    return (128, 32_768) if "pro" in name.split("-") else (0, 24_576)
