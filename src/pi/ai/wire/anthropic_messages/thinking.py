"""How hard to think, in this wire's words. Pure.

Older models take a budget of tokens, newer ones an effort. Some newer ones take a change of effort
in the middle of the conversation, which spares the prompt cache: there the effort at the top of
the request stays the one that the conversation began with, and every later change is a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi.ai.estimate import largest_answer
from pi.ai.handoff import is_own
from pi.ai.messages import AssistantMessage, Json, Message
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.models.thinking import ROOM_TO_ANSWER, level_word, thinking_budget
from pi.ai.request import Call
from pi.ai.wire.anthropic_messages.compat import Compat
from pi.base.records import Record, replace

SMALLEST_BUDGET = 1024
"""Fewer thinking tokens are refused."""

NO_INTERLEAVING = "PI_NO_INTERLEAVED_THINKING"
"""``1``: for servers in front of Anthropic that refuse the beta of thinking between tool calls."""


class ThinkingPlan(Record):
    """What a request says about thinking."""

    thinking: Json | None = None
    effort: str | None = None
    active: bool = False
    """Whether the model may think, asked to or not: such a request takes no temperature."""

    @property
    def has_budget(self) -> bool:
        """Whether it thinks within a number of tokens."""
        return self.thinking is not None and self.thinking["type"] == "enabled"


class Efforts(Record):
    """The effort that a conversation began with, and the one that is wanted now."""

    first: str
    now: str | None
    """``None`` where none is: then it stays as it is."""


def plan_thinking(call: Call, compat: Compat, *, allowed: bool = True) -> ThinkingPlan:
    """The thinking to ask for; where it is not ``allowed``, as if it were off."""
    model, level = call.model, call.options.reasoning
    if not model.reasoning:
        return ThinkingPlan()
    room = call.max_tokens - ROOM_TO_ANSWER
    too_small = not compat.force_adaptive_thinking and room < SMALLEST_BUDGET
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
    """Whether models that think within a budget may also think between tool calls."""
    return environ.get(NO_INTERLEAVING) != "1"


def with_room_to_think(call: Call) -> Call:
    """``call`` with the budget on top of its largest answer, as far as the window has room.

    Without interleaving all thoughts come before the answer and count as output, so that an answer
    as long as was asked for would not fit beside them.
    """
    budget = thinking_budget(
        call.options.reasoning, call.model.max_tokens, call.options.thinking_budgets
    )
    most = max(largest_answer(call.model, call.messages), call.max_tokens)
    room = min(call.max_tokens + budget, most)
    return replace(call, options=replace(call.options, max_tokens=room))


def provider_level(plan: ThinkingPlan, compat: Compat) -> str | None:
    """The effort of an answer, to be kept with it; only where it may change in between."""
    return plan.effort if compat.supports_mid_convo_effort else None


def efforts(
    model: Model, compat: Compat, plan: ThinkingPlan, history: Sequence[Message]
) -> Efforts | None:
    """The efforts of a conversation in which they may change; ``None`` where there are none."""
    if not compat.supports_mid_convo_effort:
        return None
    known = (own_level(message, model) for message in history)
    first = next(filter(None, known), plan.effort)
    return None if first is None else Efforts(first=first, now=plan.effort)


def own_level(message: Message, model: Model) -> str | None:
    """The effort with which ``model`` wrote ``message``."""
    if not isinstance(message, AssistantMessage) or not is_own(message, model):
        return None
    level = message.provider_thinking_level
    return level if isinstance(level, str) else None


def _off(model: Model) -> ThinkingPlan:
    words = model.thinking_level_map or {}
    if "off" in words and words["off"] is None:  # it always thinks, and refuses to be told not to
        return ThinkingPlan(active=True)
    return ThinkingPlan(thinking={"type": "disabled"})


def _effort(model: Model, level: ThinkingLevel) -> str:
    word = level_word(model, level)
    return "low" if word == "minimal" else word  # the scale begins at low
