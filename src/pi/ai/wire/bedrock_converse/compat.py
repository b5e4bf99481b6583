"""Capabilities of models on Bedrock, from their names and compat flags; thinking settings. Pure.

Converse has one format for all models, but thinking, its replay and caching differ by vendor. The
id of an inference profile may be an ARN that names no model; then the model's own name is used.
"""

from __future__ import annotations

import re
from typing import Literal

from pi.ai.messages import Json
from pi.ai.models.model import ROOM_TO_ANSWER, Model, level_word, thinking_budget
from pi.ai.request import Call, read_flags
from pi.base.records import Record

_CLAUDE = r"claude(?:-[a-z]+)*?-(\d{1,2})(?:-(\d{1,2}))?(?!\d)"
_NEWEST = (99, 0)


class Compat(Record):
    """The flags of this wire."""

    supports_strict_mode: bool = False


class ModelCompat(Record):
    """How requests to one model differ from those to another."""

    strict_tools: bool = False
    cache: Literal["none", "short", "long"] = "none"
    """The longest lifetime of a cache point."""
    thinking: Literal["none", "effort", "budget", "nova", "openai", "gpt-oss"] = "none"
    """The vendor's format of thinking settings."""
    interleaved: bool = False
    """Thinking between tool calls must be requested."""
    thoughts: Literal["signed", "any", "never"] = "any"
    """Which earlier thinking may be sent back as such."""
    temperature: bool = True


def compat_of(model: Model) -> ModelCompat:
    """Returns the capabilities of ``model``; raises ``BadRequest`` if its flags are invalid."""
    strict = read_flags(model, Compat).supports_strict_mode
    name = "-".join(re.findall(r"[a-z0-9]+", f"{model.id} {model.name}".lower()))
    if "claude" in name:
        return _claude(name, strict=strict)
    if "nova" in name:
        thinking: Literal["nova", "none"] = "nova" if "nova-2" in name else "none"
        return ModelCompat(strict_tools=strict, cache="short", thinking=thinking)
    if "gpt-oss" in name:
        return ModelCompat(strict_tools=strict, thinking="gpt-oss")
    if "openai" in name:
        return ModelCompat(strict_tools=strict, thinking="openai")
    return ModelCompat(strict_tools=strict, thoughts="never" if "deepseek" in name else "any")


def _claude(name: str, *, strict: bool) -> ModelCompat:
    found = re.search(_CLAUDE, name)
    version = (int(found[1]), int(found[2] or 0)) if found else _NEWEST
    return ModelCompat(
        strict_tools=strict,
        cache="long" if version >= (4, 5) else "short" if version >= (3, 5) else "none",
        thinking="effort" if version >= (4, 6) else "budget" if version >= (3, 7) else "none",
        interleaved=(4, 0) <= version < (4, 6),
        thoughts="signed",
        temperature=version < (4, 7),
    )


# Thinking settings in the format of each vendor.


SMALLEST_BUDGET = 1024
"""Claude rejects smaller budgets."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta that lets older Claudes think between tool calls."""


def thinking_fields(call: Call, traits: ModelCompat, *, cap: int, forced: bool) -> Json:
    """Returns the thinking part of ``additionalModelRequestFields``; empty if it is off.

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
