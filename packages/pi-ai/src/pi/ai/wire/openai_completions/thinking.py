"""Thinking settings in the format of every server. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.thinking_levels import level_word, thinking_budget
from pi.ai.request import Call
from pi.ai.wire.openai_completions.compat import Compat, ThinkingFormat
from pi.base.records import Record


class ThinkingRequest(Record):
    """The requested thinking."""

    on: bool
    word: str | None
    """The server's name for the level; for ``off`` only if the model has one."""
    listed: bool
    """Whether the model lists exactly this level."""
    budget: int
    """Tokens; 0 if it is off."""

    @property
    def effort(self) -> str:
        """The level where one is required."""
        return self.word or "none"

    @property
    def impossible(self) -> bool:
        """The model cannot stop thinking: requesting it is an error on some servers."""
        return self.listed and self.word is None


Fields: TypeAlias = Callable[[ThinkingRequest, Compat], Json]

FORMATS: Mapping[ThinkingFormat, Fields] = {
    "openai": lambda thinking, compat: {},
    "openrouter": lambda thinking, compat: (
        {} if thinking.impossible else {"reasoning": {"effort": thinking.effort}}
    ),
    "deepseek": lambda thinking, compat: {"thinking": {"type": _switch(thinking)}},
    "together": lambda thinking, compat: {"reasoning": {"enabled": thinking.on}},
    "baseten": lambda thinking, compat: _filled(
        "chat_template_args", compat.chat_template_args, thinking
    ),
    # Without the second key earlier thinking leaves the prompt, and its cache is lost.
    "zai": lambda thinking, compat: {
        "thinking": {
            "type": _switch(thinking),
            **({"clear_thinking": False} if thinking.on else {}),
        }
    },
    "qwen": lambda thinking, compat: {"enable_thinking": thinking.on},
    "chat-template": lambda thinking, compat: _filled(
        "chat_template_kwargs", compat.chat_template_kwargs, thinking
    ),
    "qwen-chat-template": lambda thinking, compat: {
        "chat_template_kwargs": {"enable_thinking": thinking.on, "preserve_thinking": True}
    },
    "string-thinking": lambda thinking, compat: (
        {} if thinking.impossible else {"thinking": thinking.effort}
    ),
    "ant-ling": lambda thinking, compat: (
        {"reasoning": {"effort": thinking.word}} if thinking.on and thinking.listed else {}
    ),
}

TEMPLATES = ("baseten", "chat-template")
"""Formats whose fields are configured: they are sent to every model that has them."""

WITH_EFFORT = ("openai", "deepseek", "together", "baseten", "zai", "qwen")
"""Formats in which ``reasoning_effort`` stands beside the switch."""


def thinking_fields(call: Call, compat: Compat) -> Json:
    """Return the thinking fields, in the order in which they are sent."""
    if not call.model.reasoning and compat.thinking_format not in TEMPLATES:
        return {}
    thinking = _thinking_request(call)
    fields = FORMATS[compat.thinking_format](thinking, compat)
    if compat.thinking_format in WITH_EFFORT and compat.supports_reasoning_effort and thinking.word:
        fields["reasoning_effort"] = thinking.word
    if thinking.on and compat.budget_field is not None:
        fields[compat.budget_field] = thinking.budget
    return fields


def _thinking_request(call: Call) -> ThinkingRequest:
    model, options = call.model, call.options
    level = options.reasoning if model.reasoning else "off"
    level_map = model.thinking_level_map or {}
    on = level != "off"
    return ThinkingRequest(
        on=on,
        word=level_word(model, level) if on else level_map.get("off"),
        listed=level in level_map,
        budget=thinking_budget(level, call.max_tokens, options.thinking_budgets) if on else 0,
    )


def _switch(thinking: ThinkingRequest) -> str:
    return "enabled" if thinking.on else "disabled"


def _filled(name: str, template: Json, thinking: ThinkingRequest) -> Json:
    """Return the configured arguments with their variables replaced."""
    arguments = {
        key: _value(value, thinking)
        for key, value in template.items()
        if thinking.on or not (isinstance(value, dict) and value.get("omitWhenOff"))
    }
    return {name: arguments} if arguments else {}


def _value(value: object, thinking: ThinkingRequest) -> object:
    if not isinstance(value, dict) or "$var" not in value:
        return value
    match value["$var"]:
        case "thinking.enabled":
            return thinking.on
        case "thinking.effort":
            return thinking.effort
        case "thinking.budget":
            return thinking.budget
        case unknown:
            raise BadRequest(
                f"The chat template arguments name an unknown variable: {unknown!r}",
                hint="Known are thinking.enabled, thinking.effort and thinking.budget.",
            )
