"""Thinking settings in the format of each vendor. Pure."""

from __future__ import annotations

from pi.ai.messages import (
    Json,
)
from pi.ai.models.thinking_levels import ROOM_TO_ANSWER, level_word, thinking_budget
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.compat import ModelCompat

SMALLEST_BUDGET = 1024
"""Claude rejects smaller budgets."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta that lets older Claudes think between tool calls."""


def thinking_fields(call: Call, traits: ModelCompat, *, cap: int, forced: bool) -> Json:
    """Return the thinking part of ``additionalModelRequestFields``; empty if it is off.

    ``cap`` is the output limit, including thinking. Claude does not think before a ``forced`` tool
    call.
    """
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return {}
    if level == "off":
        word = (model.thinking_level_map or {}).get("off")
        return {"reasoning": {"effort": word}} if word and traits.thinking == "openai" else {}
    if traits.thinking == "budget":
        return {} if forced else _budget(call, traits, cap)
    effort = level_word(model, level)
    return _effort(traits, "low" if effort == "minimal" else effort, forced=forced)


def thinks_without_limits(fields: Json) -> bool:
    """Whether output cap and temperature must be left out: Nova at its highest level."""
    return bool(fields.get("reasoningConfig", {}).get("maxReasoningEffort") == "high")


def _effort(traits: ModelCompat, effort: str, *, forced: bool) -> Json:
    match traits.thinking:
        case "effort" if not forced:
            return {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": effort},
            }
        case "nova":
            return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
        case "openai":
            return {"reasoning": {"effort": effort}}
        case "gpt-oss":
            return {"reasoning_effort": effort}
        case _:
            return {}


def _budget(call: Call, traits: ModelCompat, cap: int) -> Json:
    if cap < SMALLEST_BUDGET + ROOM_TO_ANSWER:
        return {}
    requested = thinking_budget(call.options.reasoning, cap, call.options.thinking_budgets)
    budget = max(requested, SMALLEST_BUDGET)
    fields: Json = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if traits.interleaved:
        fields["anthropic_beta"] = [INTERLEAVED]
    return fields
