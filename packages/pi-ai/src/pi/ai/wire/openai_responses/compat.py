"""Compat flags: those of the model, and defaults by base URL. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType, field

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import CacheKeyMode, read_flags
from pi.base.records import Record


class Compat(Record):
    """Capabilities of a server; the defaults are those of OpenAI's own server."""

    supports_developer_role: bool = True
    supports_mid_convo_system_messages: bool = False
    supports_additional_tools: bool = False
    """Tools that were added later may be declared where they were added."""
    supports_reasoning_effort: bool = True
    supports_max_output_tokens: bool = True
    supports_strict_mode: bool = False
    supports_grammar_tools: bool = field(default=False, name="supportsOpenAIGrammarTools")
    supports_mid_convo_effort: bool = False
    """The effort of a request stays the same; each answer's own follows the message before it."""
    prompt_cache_key_mode: CacheKeyMode = "auto"
    """``auto`` sends a key, too."""
    supports_long_cache_retention: bool = True
    supports_explicit_prompt_cache_mode: bool = False
    """The server supports a mode that writes nothing to its cache."""
    session_affinity_format: Literal["openai", "openai-nosession", "openrouter"] = "openai"
    thinks_unasked: bool = False
    """The server thinks even with thinking off, so its thinking is always requested."""
    loose_tools: bool | UnsetType | None = UNSET
    """The value of ``strict`` for a tool that is not strict; unset leaves the key out."""
    off_word: str | None = "none"
    """The effort that means no thinking, if the model names none of its own."""


def read_compat(model: Model) -> Compat:
    """Return the flags of ``model``; raises ``BadRequest`` if one of them has a wrong type."""
    return read_flags(model, Compat, _detected(model))


def _detected(model: Model) -> Json:
    """Return defaults of unset flags from the base URL and other flags."""
    detected: Json = {}
    if (model.compat or {}).get("supportsStrictMode"):
        detected["looseTools"] = False
    if "://api.x.ai" in model.base_url:
        detected["thinksUnasked"] = True
    return detected
