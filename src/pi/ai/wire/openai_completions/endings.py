"""How an answer ended: reasons in every server's words, and answers that say nothing. Pure."""

from __future__ import annotations

from pi.ai.builder import CompleteReason
from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
)
from pi.ai.estimate import conversation_tokens
from pi.ai.messages import Usage
from pi.ai.overflow import FULL
from pi.ai.request import Call

NO_FINISH_REASON = "Stream ended without finish_reason"

LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Words for an answer that was cut, in lower case. Others that are no failure mean a stop."""

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
"""Tokens by which our guess may be wrong although a server cut nothing off."""


def complete_reason(word: str, *, calls: bool) -> CompleteReason:
    """The stop reason for a server's ``word``; calls are to be run, whatever it says of them."""
    if word.lower() in LENGTH:
        return "length"
    return "toolUse" if calls else "stop"


def failure(word: str) -> ProviderError | None:
    """The error that a server's ``word`` stands for."""
    kind = FAILURES.get(word.lower())
    return None if kind is None else kind(f"Provider finish_reason: {word}")


def no_room(call: Call, reason: CompleteReason, usage: Usage) -> ContextOverflow | None:
    """Why an answer without any content is none: the context was full, or cut to fit.

    Local servers have smaller contexts than their models and do not say so. An answer that is
    empty for other reasons gives ``None``.
    """
    if usage.output > 1:  # hidden thoughts, or filtered words
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
