"""The end of a response: its finish reason, and failures that it reports. Pure."""

from __future__ import annotations

from pi.ai.builder import CompleteReason
from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
)
from pi.ai.failures.overflow import FULL
from pi.ai.messages import Usage
from pi.ai.request import Call
from pi.ai.token_estimates import conversation_tokens

LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Reasons for a truncated response, in lower case. Others that are no failure mean a stop."""

FAILURES: dict[str, type[ProviderError]] = {
    "content_filter": AnswerRefused,
    "sensitive": AnswerRefused,
    "error": ProviderUnavailable,
    "network_error": ProviderUnavailable,
    "insufficient_system_resource": ProviderUnavailable,
    "abort": ProviderUnavailable,
    "malformed_function_call": BadAnswer,
}

MISCOUNTED = 2048
"""Tokens by which our estimate may be wrong although a server truncated nothing."""


def complete_reason(word: str, *, calls: bool) -> CompleteReason:
    """Return the stop reason for a server's ``word``; calls are always run."""
    if word.lower() in LENGTH:
        return "length"
    return "toolUse" if calls else "stop"


def failure(word: str) -> ProviderError | None:
    """Return the error for a server's ``word``; ``None`` if it means no failure."""
    kind = FAILURES.get(word.lower())
    return None if kind is None else kind(f"Provider finish_reason: {word}")


def no_output_room(call: Call, reason: CompleteReason, usage: Usage) -> ContextOverflow | None:
    """Return the error of an empty response whose context was full or truncated.

    Local servers have smaller contexts than their models and do not report it. Returns ``None`` if
    a response is empty for other reasons.
    """
    if usage.output > 1:  # hidden thinking, or filtered text
        return None
    counted = usage.input + usage.cache_read + usage.cache_write
    sent = conversation_tokens(call.messages)
    full = max(counted, sent) >= FULL * call.model.context_window > 0
    cut = 0 < counted < (sent - MISCOUNTED) / 2
    if reason != "length" and not full and not cut:
        return None
    return ContextOverflow(
        f"{call.model.id} had no room left to answer: about {sent} tokens were sent"
        f" and the server counted {counted}.",
        hint="Compact the conversation, or give the server a larger context (llama.cpp: -c,"
        " Ollama: num_ctx, LM Studio: context length).",
    )
