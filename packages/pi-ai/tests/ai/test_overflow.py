from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.failures.overflow import is_overflow, is_silent_overflow
from pi.ai.messages import AssistantMessage, StopReason, Usage
from pi.ai.models.model import Model

OVERFLOWS = {
    "OpenAI": "Your input exceeds the context window of this model. Please adjust your input.",
    "OpenAI code": "context_length_exceeded",
    "OpenAI code in words": "Error: context length exceeded",
    "OpenAI messages": "Invalid 'messages': array too long. Expected an array with maximum length "
    "2048, but got an array with length 2049 instead.",
    "message count": "Too many messages in the conversation (limit 1000)",
    "vLLM": "This model's maximum context length is 131072 tokens. However, you requested 140000.",
    "vLLM decoder": "The decoder prompt (length 9000) is longer than the maximum model length of "
    "8192. Make sure that `max_model_len` is no smaller.",
    "OpenRouter": "This endpoint's maximum context length is 128,000 tokens. However, you requested"
    " about 200,000 tokens (150,000 of text input, 40,000 of tool input, 0 of image input).",
    "LiteLLM class": "litellm.ContextWindowExceededError: litellm.BadRequestError: too much for it",
    "Anthropic": "prompt is too long: 210333 tokens > 200000 maximum",
    "Anthropic answer": "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200",
    "Anthropic request": "request_too_large",
    "Bedrock": "The model returned the following errors: Input is too long for requested model.",
    "Google": "The input token count (1200293) exceeds the maximum number of tokens allowed "
    "(1048576).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "Cerebras": "Please reduce the length of the messages or completion. Current length is 9000 "
    "while limit is 8192",
    "Copilot": "prompt token count of 140000 exceeds the limit of 128000",
    "Mistral": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
    "maximum context length",
    "Poolside": "The request is larger than the maximum allowed input length of 131072 tokens",
    "Together": "The input is longer than the model's context length.",
    "LiteLLM": "Input length 9000 exceeds the model's maximum context length of 8192.",
    "SGLang": "Requested token count exceeds the model's maximum context length of 131072 tokens.",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "llama.cpp type": "exceed_context_size_error",
    "LM Studio": "The number of tokens to keep from the initial prompt is greater than the context "
    "length",
    "DS4": "prompt has 40000 tokens but the configured context size is 32768",
    "Ollama": "prompt too long; exceeded max context length by 4 tokens",
    "Ollama embed": "the input length exceeds the context length",
    "MiniMax": "invalid params, context window exceeds limit (2013)",
    "Moonshot": "Invalid request: Your request exceeded model token limit: 262144",
    "z.ai": "Prompt exceeds max length",
    "z.ai stop": "model_context_window_exceeded",
    "Qwen": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "Cohere": "too many tokens: total number of tokens in the prompt exceeds the limit of 4081",
    "any": "Token limit exceeded",
}

OTHER_LIMITS = {
    "OpenAI tokens per minute": "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000,"
    " Requested 35000. Please reduce the length of the messages.",
    "Cerebras tokens per minute": "Tokens per minute limit exceeded - too many tokens processed.",
    "Bedrock throttling": "Too many tokens, please wait before trying again.",
    "Bedrock daily": "Too many tokens per day, please wait before trying again.",
    "throttling by name": "ThrottlingException: token limit exceeded",
    "requests": "Too Many Requests",
    "picture": "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes"
    " > 5242880 bytes",
    "bytes": "request_too_large: Request exceeds the maximum allowed number of bytes.",
    "size": "request_too_large: Request exceeds the maximum size",
    "nginx": "413 Request Entity Too Large",
    "tools": "The number of tools exceeds the limit of 128 tools",
    "length of a name": "tool name exceeds the limit of 64 characters",
    "something else": "Invalid API key",
    "nothing": "",
}


@pytest.mark.behaviour("overflow-texts-are-recognised")
@pytest.mark.parametrize("text", OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_a_context_overflow_is_recognised_in_the_messages_of_every_provider(text: str) -> None:
    assert is_overflow(text)
    assert is_overflow(text.upper())


@pytest.mark.behaviour("rate-limit-is-not-overflow", "413-is-not-always-overflow")
@pytest.mark.parametrize("text", OTHER_LIMITS.values(), ids=OTHER_LIMITS.keys())
def test_rate_limits_and_byte_limits_are_not_a_context_overflow(text: str) -> None:
    assert not is_overflow(text)


@given(st.text())
def test_any_text_can_be_classified(text: str) -> None:
    assert is_overflow(text) in (True, False)


@pytest.mark.parametrize(
    ("reason", "usage", "expected"),
    [
        ("stop", Usage(input=1001, output=5), True),
        ("stop", Usage(input=1000, output=5), False),
        ("stop", Usage(input=1, cache_read=900, cache_write=100, output=5), True),
        ("toolUse", Usage(input=2000, output=5), True),
        ("length", Usage(input=1000), True),
        ("length", Usage(input=995), True),
        ("length", Usage(input=500), False),
        ("length", Usage(input=995, output=1), False),
        ("error", Usage(input=2000), False),
        ("aborted", Usage(input=2000), False),
    ],
)
def test_a_silent_overflow_is_recognised_by_the_usage(
    reason: StopReason, usage: Usage, expected: bool
) -> None:
    model = Model(id="m", name="m", api="x", provider="p", context_window=1000)

    assert is_silent_overflow(AssistantMessage(stop_reason=reason, usage=usage), model) is expected


def test_a_model_with_an_unknown_context_window_has_no_silent_overflow() -> None:
    model = Model(id="m", name="m", api="x", provider="p", context_window=0)
    message = AssistantMessage(stop_reason="length", usage=Usage(input=10**9))

    assert not is_silent_overflow(message, model)
