"""Thinking levels: which of them a model has, and what the others become."""

from __future__ import annotations

from collections.abc import Mapping

from pi.ai.models.model import THINKING_LEVELS, Model, ThinkingLevel
from pi.base.records import UNSET

BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
"""Thinking tokens per level, for wires that want a number."""

ROOM_TO_ANSWER = 1024
"""Tokens of the output that thinking may never take."""


def supported_levels(model: Model) -> tuple[ThinkingLevel, ...]:
    """The levels a person may choose for ``model``, in rising order."""
    if not model.reasoning:
        return ("off",)
    words = {} if model.thinking_level_map is UNSET else model.thinking_level_map
    assert isinstance(words, dict)
    return tuple(
        level
        for level in THINKING_LEVELS
        if (words.get(level) is not None if level in ("xhigh", "max") else words.get(level, level))
    )


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """``level`` if the model has it, else the next one above, else the next below."""
    supported = supported_levels(model)
    wanted = THINKING_LEVELS.index(level)
    above = [choice for choice in supported if THINKING_LEVELS.index(choice) >= wanted]
    return above[0] if above else supported[-1] if supported else "off"


def level_word(model: Model, level: ThinkingLevel) -> str:
    """The provider's own word for ``level``."""
    if isinstance(model.thinking_level_map, dict):
        return model.thinking_level_map.get(level) or level
    return level


def thinking_budget(
    level: ThinkingLevel, max_tokens: int, budgets: Mapping[str, int] | None = None
) -> int:
    """Thinking tokens for ``level`` that leave room for an answer within ``max_tokens``."""
    wanted = {**BUDGETS, **(budgets or {})}
    budget = wanted.get(level, wanted["high"])
    return max(min(budget, max_tokens - ROOM_TO_ANSWER), 0)
