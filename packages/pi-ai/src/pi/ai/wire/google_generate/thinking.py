"""Thinking settings: a level or a budget. Pure."""

from __future__ import annotations

from pi.ai.messages import (
    Json,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import (
    ThinkingLevel,
    level_word,
    supported_levels,
    thinking_budget,
)
from pi.ai.request import Call
from pi.ai.wire.google_generate.compat import Compat


def thinking_config(call: Call, traits: Compat) -> Json | None:
    """Return the ``thinkingConfig``; ``None`` for a model that does not think.

    A model that cannot stop thinking gets the minimum, and its thinking is not requested.
    """
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return None
    if level == "off":
        if traits.thinking_levels:
            return {"thinkingLevel": level_word(model, _least_level(model)).upper()}
        return {"thinkingBudget": traits.thinking_budget[0]}
    if traits.thinking_levels:
        return {"includeThoughts": True, "thinkingLevel": level_word(model, level).upper()}
    return {"includeThoughts": True, "thinkingBudget": _budget(call, traits)}


def _least_level(model: Model) -> ThinkingLevel:
    """Return the lowest level that ``model`` is known to have; all Geminis with levels have
    ``low``."""
    if not isinstance(model.thinking_level_map, dict):
        return "low"
    return next((level for level in supported_levels(model) if level != "off"), "low")


def _budget(call: Call, traits: Compat) -> int:
    options = call.options
    least, most = traits.thinking_budget
    requested = thinking_budget(options.reasoning, call.max_tokens, options.thinking_budgets)
    return min(max(requested, least), most)
