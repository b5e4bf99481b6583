"""Thinking settings: budgets, adaptive thinking, and efforts that change. Pure.

Older models take a budget of tokens, newer ones an effort. Some newer ones accept a change of
effort in the middle of the conversation, which keeps the prompt cache: for these the effort at
the top of the request stays the first one of the conversation, and every later change is a
message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi.ai.messages import Json, Message
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ROOM_TO_ANSWER, ThinkingLevel, level_word, thinking_budget
from pi.ai.request import Call
from pi.ai.token_estimates import largest_answer
from pi.ai.wire.anthropic_messages.compat import Compat
from pi.ai.wire_support.handoff import own_level
from pi.base.records import Record, replace

SMALLEST_BUDGET = 1024
"""Smaller budgets are rejected."""

NO_INTERLEAVING = "PI_NO_INTERLEAVED_THINKING"
"""``1``: for servers in front of Anthropic that reject the beta of thinking between tool calls."""


class ThinkingPlan(Record):
    """The thinking fields of a request."""

    thinking: Json | None = None
    effort: str | None = None
    active: bool = False
    """Whether the model may think, requested or not: such a request takes no temperature."""

    @property
    def has_budget(self) -> bool:
        """Whether it thinks within a token budget."""
        return self.thinking is not None and self.thinking["type"] == "enabled"


class Efforts(Record):
    """The first effort of a conversation, and the one requested now."""

    first: str
    now: str | None
    """``None`` if none is requested: then it stays unchanged."""


def plan_thinking(call: Call, compat: Compat, *, allowed: bool = True) -> ThinkingPlan:
    """Return the thinking to request; off if it is not ``allowed``."""
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return ThinkingPlan()
    available = call.max_tokens - ROOM_TO_ANSWER
    too_small = not compat.force_adaptive_thinking and available < SMALLEST_BUDGET
    if level == "off" or not allowed or too_small:
        return _off(model)
    if compat.force_adaptive_thinking:
        return ThinkingPlan(
            thinking={"type": "adaptive", "display": "summarized"},
            effort=_effort(model, level),
            active=True,
        )
    budget = thinking_budget(level, call.max_tokens, call.options.thinking_budgets)
    return ThinkingPlan(
        thinking={
            "type": "enabled",
            "budget_tokens": max(budget, SMALLEST_BUDGET),
            "display": "summarized",
        },
        active=True,
    )


def interleaves(environ: Mapping[str, str]) -> bool:
    """Whether models with a thinking budget may also think between tool calls."""
    return environ.get(NO_INTERLEAVING) != "1"


def with_room_to_think(call: Call) -> Call:
    """Return ``call`` with the budget added to its output limit, as far as the window has room.

    Without interleaving all thinking comes before the text and counts as output, so that the
    requested output would not fit beside it.
    """
    budget = thinking_budget(
        call.options.reasoning, call.model.max_tokens, call.options.thinking_budgets
    )
    most = max(largest_answer(call.model, call.messages), call.max_tokens)
    limit = min(call.max_tokens + budget, most)
    return replace(call, options=replace(call.options, max_tokens=limit))


def provider_level(plan: ThinkingPlan, compat: Compat) -> str | None:
    """Return the effort to store with a response; only if it may change in between."""
    return plan.effort if compat.supports_mid_convo_effort else None


def efforts(
    model: Model, compat: Compat, plan: ThinkingPlan, history: Sequence[Message]
) -> Efforts | None:
    """Return the efforts of a conversation in which they may change; ``None`` if there are
    none."""
    if not compat.supports_mid_convo_effort:
        return None
    levels = (own_level(message, model) for message in history)
    first = next(filter(None, levels), plan.effort)
    return None if first is None else Efforts(first=first, now=plan.effort)


def _off(model: Model) -> ThinkingPlan:
    level_map = model.thinking_level_map or {}
    if "off" in level_map and level_map["off"] is None:  # it always thinks, and rejects "off"
        return ThinkingPlan(active=True)
    return ThinkingPlan(thinking={"type": "disabled"})


def _effort(model: Model, level: ThinkingLevel) -> str:
    word = level_word(model, level)
    return "low" if word == "minimal" else word  # the scale begins at low
