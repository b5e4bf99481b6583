"""Quirks of servers that speak Responses: the model's flags, and what its base URL tells."""

from __future__ import annotations

from typing import Literal

from pi.ai.flags import read_flags
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.base.records import UNSET, Record, UnsetType, field


class Compat(Record):
    """What a server takes; every flag has the value of OpenAI's own server unless it is set."""

    supports_developer_role: bool = True
    supports_mid_convo_system_messages: bool = False
    supports_additional_tools: bool = False
    """Tools that were added later may be declared where they were added."""
    supports_reasoning_effort: bool = True
    supports_max_output_tokens: bool = True
    supports_strict_mode: bool = False
    supports_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_long_cache_retention: bool = True
    supports_explicit_prompt_cache_mode: bool = False
    """The server can be told to write nothing to its cache."""
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] = "openai"
    thinks_unasked: bool = False
    """The server thinks even with thinking off, so its thoughts are always asked for."""
    loose_tools: bool | UnsetType | None = UNSET
    """What ``strict`` says of a tool that is not strict; unset leaves the key away."""
    off_word: str | None = "none"
    """The effort that means no thinking, where the model names none of its own."""


def read_compat(model: Model) -> Compat:
    """The flags of ``model``; raises ``BadRequest`` when one of them has a wrong type."""
    return read_flags(model, Compat, _detected(model))


def _detected(model: Model) -> Json:
    """What the base URL and other flags say about flags that were not given."""
    detected: Json = {}
    if (model.compat or {}).get("supportsStrictMode"):
        detected["looseTools"] = False
    if "://api.x.ai" in model.base_url:
        detected["thinksUnasked"] = True
    return detected
