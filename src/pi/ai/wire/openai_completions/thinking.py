"""What a request says about thinking: the same wish in the words of every server. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.thinking import level_word, thinking_budget
from pi.ai.request import Call
from pi.ai.wire.openai_completions.compat import Compat, ThinkingFormat
from pi.base.records import Record


class Wish(Record):
    """How much thinking is wanted."""

    on: bool
    word: str | None
    """The server's word for the level; for ``off`` only where the model has one."""
    listed: bool
    """Whether the model lists this very level."""
    budget: int
    """Tokens, none when it is off."""

    @property
    def effort(self) -> str:
        """The word where one must be said."""
        return self.word or "none"

    @property
    def impossible(self) -> bool:
        """The model cannot stop thinking: to ask it to is an error on some servers."""
        return self.listed and self.word is None


Fields: TypeAlias = Callable[[Wish, Compat], Json]

FORMATS: Mapping[ThinkingFormat, Fields] = {
    "openai": lambda wish, compat: {},
    "openrouter": lambda wish, compat: (
        {} if wish.impossible else {"reasoning": {"effort": wish.effort}}
    ),
    "deepseek": lambda wish, compat: {"thinking": {"type": _switch(wish)}},
    "together": lambda wish, compat: {"reasoning": {"enabled": wish.on}},
    "baseten": lambda wish, compat: _filled("chat_template_args", compat.chat_template_args, wish),
    # Without the second key earlier thoughts leave the prompt, and its cache is lost.
    "zai": lambda wish, compat: {
        "thinking": {"type": _switch(wish), **({"clear_thinking": False} if wish.on else {})}
    },
    "qwen": lambda wish, compat: {"enable_thinking": wish.on},
    "chat-template": lambda wish, compat: _filled(
        "chat_template_kwargs", compat.chat_template_kwargs, wish
    ),
    "qwen-chat-template": lambda wish, compat: {
        "chat_template_kwargs": {"enable_thinking": wish.on, "preserve_thinking": True}
    },
    "string-thinking": lambda wish, compat: {} if wish.impossible else {"thinking": wish.effort},
    "ant-ling": lambda wish, compat: (
        {"reasoning": {"effort": wish.word}} if wish.on and wish.listed else {}
    ),
}
TEMPLATES = ("baseten", "chat-template")
"""Formats whose fields the configuration spells out: they go to every model that has them."""
WITH_EFFORT = ("openai", "deepseek", "together", "baseten", "zai", "qwen")
"""Formats in which ``reasoning_effort`` stands beside the switch."""


def thinking_fields(call: Call, compat: Compat) -> Json:
    """The fields about thinking, in the order in which they are sent."""
    if not call.model.reasoning and compat.thinking_format not in TEMPLATES:
        return {}
    wish = _wish(call)
    fields = FORMATS[compat.thinking_format](wish, compat)
    if compat.thinking_format in WITH_EFFORT and compat.supports_reasoning_effort and wish.word:
        fields["reasoning_effort"] = wish.word
    if wish.on and compat.budget_field is not None:
        fields[compat.budget_field] = wish.budget
    return fields


def _wish(call: Call) -> Wish:
    model, options = call.model, call.options
    level = options.reasoning if model.reasoning else "off"
    words = model.thinking_level_map or {}
    on = level != "off"
    return Wish(
        on=on,
        word=level_word(model, level) if on else words.get("off"),
        listed=level in words,
        budget=thinking_budget(level, call.max_tokens, options.thinking_budgets) if on else 0,
    )


def _switch(wish: Wish) -> str:
    return "enabled" if wish.on else "disabled"


def _filled(name: str, template: Json, wish: Wish) -> Json:
    """The configured arguments with their variables filled in."""
    arguments = {
        key: _value(value, wish)
        for key, value in template.items()
        if wish.on or not (isinstance(value, dict) and value.get("omitWhenOff"))
    }
    return {name: arguments} if arguments else {}


def _value(value: object, wish: Wish) -> object:
    if not isinstance(value, dict) or "$var" not in value:
        return value
    match value["$var"]:
        case "thinking.enabled":
            return wish.on
        case "thinking.effort":
            return wish.effort
        case "thinking.budget":
            return wish.budget
        case unknown:
            raise BadRequest(
                f"The chat template arguments name an unknown variable: {unknown!r}",
                hint="Known are thinking.enabled, thinking.effort and thinking.budget.",
            )
