"""Detects context overflow in the error texts of all providers. Pure."""

from __future__ import annotations

import re

from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model

_NUMBER = r"[\d,._]++"

WORDINGS: tuple[tuple[str, str], ...] = (
    ("OpenAI", r"context[_ ]length[_ ]exceeded"),
    ("OpenAI", r"exceeds? the (?:model's )?context window"),
    ("OpenAI, more messages than allowed", r"'(?:messages|input)'?: array too long"),
    ("any, more messages than allowed", r"too many messages|maximum number of messages"),
    ("OpenAI, vLLM, OpenRouter", rf"maximum context length is {_NUMBER} tokens?"),
    ("Anthropic, OpenRouter", r"prompt (?:is )?too long"),
    ("Anthropic, whole request", r"request_too_large"),
    ("Anthropic, room for the answer", r"exceeds? (?:the )?context limit"),
    ("Amazon Bedrock", r"input is too long(?: for requested model)?"),
    ("Google", r"input token count.{0,60}exceeds the maximum"),
    ("xAI", rf"maximum prompt length is {_NUMBER}"),
    ("Groq, Cerebras, DeepSeek", r"reduce the length of the (?:messages|input|prompt)"),
    ("GitHub Copilot", rf"exceeds the limit of {_NUMBER}(?!\s*(?:characters|requests|tools))"),
    ("Mistral", rf"too large for model with {_NUMBER} maximum context length"),
    ("Poolside", rf"maximum allowed input length of {_NUMBER} tokens?"),
    ("Together", r"longer than the model'?s context length"),
    ("LiteLLM", r"ContextWindowExceededError"),
    (
        "LiteLLM, SGLang",
        rf"exceeds? (?:the )?(?:model'?s )?maximum context length(?: of {_NUMBER})?",
    ),
    ("vLLM", rf"longer than the maximum model length of {_NUMBER}"),
    ("llama.cpp", r"exceeds the available context size|exceed_context_size"),
    ("llama.cpp, LM Studio", r"(?:greater|larger) than the (?:max )?context (?:length|size)"),
    ("DS4", rf"prompt has {_NUMBER} tokens,? but the configured context size is {_NUMBER}"),
    ("Ollama", r"exceed(?:s|ed) (?:the )?(?:max(?:imum)? )?context length"),
    ("MiniMax", r"context window exceeds limit"),
    ("Moonshot", r"exceeded model token limit"),
    ("z.ai", r"model_context_window_exceeded|prompt exceeds max(?:imum)? length"),
    ("Qwen", r"range of input length should be"),
    ("Cohere, OpenRouter", r"too many tokens"),
    ("any", r"token limit exceeded"),
)
"""The provider, and the pattern of its message."""

RATE = r"""per[ -](?:second|minute|min|hour|day)\b | \b[TR]P[MD]\b | rate[ _-]?limit
    | too\ many\ requests | throttl | please\ wait\ before | try\ again\ (?:later|in\ \d)"""
"""A limit of tokens per time: waiting helps and compacting does not."""

SIZE = r"""\bbytes?\b | \b[\d.]+\ ?[KMG]i?B\b | \bmegabytes?\b | maximum\ (?:allowed\ )?size
    | \b(?:payload|entity|media|image|file)\b"""
"""A limit of bytes or of a picture: without a mention of tokens it is not a full window."""

FULL = 0.99
"""The fraction of a window that leaves no room for output."""


def is_overflow(text: str) -> bool:
    """Whether an error's text says that the conversation is longer than the window.

    Limits of tokens per minute, throttling, and requests that are too large in bytes sound alike
    and do not count.
    """
    wordings = "|".join(pattern for _, pattern in WORDINGS)
    if not _matches(wordings, text, re.DOTALL) or is_rate_wording(text):
        return False
    return "token" in text.lower() or not is_size_wording(text)


def is_rate_wording(text: str) -> bool:
    """Whether the text mentions a limit per time."""
    return _matches(RATE, text)


def is_size_wording(text: str) -> bool:
    """Whether the text mentions bytes or the size of a picture."""
    return _matches(SIZE, text)


def is_silent_overflow(message: AssistantMessage, model: Model) -> bool:
    """Whether the provider silently truncated the conversation, or had no room left."""
    usage, window = message.usage, model.context_window
    input_tokens = usage.input + usage.cache_read + usage.cache_write
    if window <= 0 or message.stop_reason in ("error", "aborted"):
        return False
    if message.stop_reason == "length" and usage.output == 0:
        return input_tokens >= FULL * window
    return input_tokens > window


def _matches(pattern: str, text: str, flags: re.RegexFlag = re.VERBOSE) -> bool:
    # Compiled for the first error, not at import, which every first request pays for.
    return re.search(pattern, text, flags | re.IGNORECASE) is not None
