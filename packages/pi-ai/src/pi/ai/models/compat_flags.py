"""The compat flags that ``models.json`` may set, for every protocol. Pure.

The flags are read by the wires, which are not imported to check a file; a test compares this table
with their records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pi.ai.messages import Json

Kind: TypeAlias = type | tuple[str, ...]
"""The type of a flag's value, or the words that it may be."""

_FORMATS = (
    *("openai", "openrouter", "deepseek", "together", "baseten", "zai", "qwen", "chat-template"),
    *("qwen-chat-template", "string-thinking", "ant-ling"),
)

COMPAT_FLAGS: Mapping[str, Kind] = {
    **dict.fromkeys(
        (
            *("allowEmptySignature", "forceAdaptiveThinking", "requiresAssistantAfterToolResult"),
            *("requiresNonNullAssistantContent", "requiresReasoningContentOnAssistantMessages"),
            *("requiresThinkingAsText", "requiresToolResultName", "requiresToolsWithToolHistory"),
            "returnTokenIds",
            *("sendImageOptInHeader", "sendSessionAffinityHeaders", "supportsAdditionalTools"),
            *("supportsCacheControlOnTools", "supportsDeveloperRole"),
            *("supportsEagerToolInputStreaming", "supportsExplicitPromptCacheMode"),
            *("supportsFinishReason", "supportsLongCacheRetention", "supportsMaxOutputTokens"),
            *("supportsMessageThreads", "supportsMidConvoEffort", "supportsMidConvoSystemMessages"),
            *("supportsMidConvoToolAdditions", "supportsMidConvoToolChanges"),
            *("supportsOpenAIGrammarTools", "supportsParametersJsonSchema"),
            *("supportsReasoningEffort", "supportsStore", "supportsStrictMode"),
            *("supportsStrictTools", "supportsTemperature", "supportsThinkingTokenBudget"),
            *("supportsToolSearch", "supportsUsageInStreaming", "zaiToolStream"),
        ),
        bool,
    ),
    **dict.fromkeys(
        ("chatTemplateArgs", "chatTemplateKwargs", "openRouterRouting", "vercelGatewayRouting"),
        dict,
    ),
    "allowedFallbackModels": list,
    "cacheControlFormat": ("anthropic",),
    "imageInput": ("assets", "images", "state-image-urls"),
    "maxTokensField": ("max_completion_tokens", "max_tokens"),
    "promptCacheKeyMode": ("auto", "enabled", "disabled"),
    "sessionAffinityFormat": ("openai", "openai-nosession", "openrouter"),
    "thinkingFormat": _FORMATS,
    "thinkingTokenBudgetField": (
        *("thinking_token_budget", "thinking_budget", "thinking_budget_tokens"),
    ),
    "vllmPriority": int,
}
"""Flags and their values; any may also be null."""

WITHOUT_EFFECT = frozenset({"imageInput", "sendImageOptInHeader", "supportsToolSearch"})
"""Flags that are valid and change nothing here: those of classifiers, and a mode of one API."""

WORDS: Mapping[type, str] = {
    bool: "boolean",
    dict: "object",
    int: "number",
    list: "array",
    str: "string",
}
"""The names of types in messages."""


def compat_faults(compat: Json) -> Iterable[str]:
    """Yield each known flag whose value is wrong, as ``.flag: must be …``; others are ignored."""
    for name, value in compat.items():
        kind = COMPAT_FLAGS.get(name)
        if kind is None or value is None:
            continue
        if isinstance(kind, tuple):
            if value not in kind:
                yield f".{name}: must be one of {', '.join(kind)}"
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            yield f".{name}: must be {WORDS[kind]}"


def unused_flags(compat: Json) -> list[str]:
    """Return the flags that no protocol reads: unknown ones, and those without effect here."""
    return [name for name in compat if name not in COMPAT_FLAGS or name in WITHOUT_EFFECT]
