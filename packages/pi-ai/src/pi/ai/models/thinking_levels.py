"""Thinking levels: which a model supports, its word for each, and their token budgets. Pure."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET

from pi.ai.models.model import Model

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]

THINKING_LEVELS: tuple[ThinkingLevel, ...] = (
    "off",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
)

BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
"""Thinking tokens per level, for wires that take a number."""

ROOM_TO_ANSWER = 1024
"""Output tokens that are reserved for text."""


def supported_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """Return the levels that the user may choose for ``model``, in rising order."""
    if not model.reasoning:
        return ("off",)
    level_map = {} if model.thinking_level_map is UNSET else model.thinking_level_map
    assert isinstance(level_map, dict)
    return tuple(
        level
        for level in THINKING_LEVELS
        if (
            level_map.get(level) is not None
            if level in ("xhigh", "max")
            else level_map.get(level, level)
        )
    )


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """Return ``level`` if the model supports it, else the next one above, else the next below."""
    supported = supported_levels(model)
    rank = THINKING_LEVELS.index(level)
    above = [choice for choice in supported if THINKING_LEVELS.index(choice) >= rank]
    return above[0] if above else supported[-1] if supported else "off"


def level_word(model: Model, level: ThinkingLevel) -> str:
    """Return the provider's own name for ``level``."""
    if isinstance(model.thinking_level_map, dict):
        return model.thinking_level_map.get(level) or level
    return level


def thinking_budget(
    level: ThinkingLevel, max_tokens: int, budgets: Mapping[str, int] | None = None
) -> int:
    """Return the thinking tokens for ``level`` that leave room for text within ``max_tokens``."""
    by_level = {**BUDGETS, **(budgets or {})}
    budget = by_level.get(level, by_level["high"])
    return max(min(budget, max_tokens - ROOM_TO_ANSWER), 0)
