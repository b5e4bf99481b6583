from __future__ import annotations

import pytest

from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
)
from pi.ai.messages import Usage, UserMessage
from pi.ai.wire.openai_completions.finish_reasons import complete_reason, failure, no_output_room
from tests.ai.wire.openai_completions.chats import call_with, chunk, counts, decoded, model_with


@pytest.mark.behaviour("missing-finish-reason-is-a-stop")
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("tool_calls", "stop"),
    ],
)
def test_finish_reasons_are_case_insensitive(word: str, reason: str) -> None:
    assert complete_reason(word, calls=False) == reason


@pytest.mark.behaviour("calls-with-end-turn-run")
def test_an_answer_with_calls_has_the_stop_reason_tool_use_unless_truncated() -> None:
    assert complete_reason("stop", calls=True) == "toolUse"
    assert complete_reason("tool_calls", calls=True) == "toolUse"
    assert complete_reason("length", calls=True) == "length"


@pytest.mark.parametrize(
    ("word", "kind", "retryable"),
    [
        ("content_filter", AnswerRefused, False),
        ("CONTENT_FILTER", AnswerRefused, False),
        ("error", ProviderUnavailable, True),
        ("insufficient_system_resource", ProviderUnavailable, True),
        ("MALFORMED_FUNCTION_CALL", BadAnswer, True),
    ],
)
def test_some_finish_reasons_become_errors(
    word: str, kind: type[ProviderError], retryable: bool
) -> None:
    problem = failure(word)

    assert type(problem) is kind
    assert problem.message == f"Provider finish_reason: {word}"
    assert problem.retryable is retryable


SMALL = model_with(contextWindow=1000)


@pytest.mark.behaviour("local-server-context")
@pytest.mark.parametrize("usage", [Usage(), Usage(input=990, output=1)])
def test_an_answer_truncated_before_its_first_token_is_a_context_overflow(usage: Usage) -> None:
    problem = no_output_room(call_with(model=SMALL), "length", usage)

    assert isinstance(problem, ContextOverflow)
    assert "num_ctx" in problem.hint


@pytest.mark.behaviour("local-server-context")
def test_an_empty_answer_with_a_full_context_window_is_a_context_overflow() -> None:
    assert no_output_room(call_with(model=SMALL), "stop", Usage(input=995)) is not None
    assert no_output_room(call_with(model=SMALL), "stop", Usage(input=100)) is None


@pytest.mark.behaviour("local-server-context")
def test_an_empty_answer_to_a_truncated_prompt_is_a_context_overflow() -> None:
    long = call_with(UserMessage(content="word " * 10_000))

    assert no_output_room(long, "stop", Usage(input=4096, output=1)) is not None
    assert no_output_room(long, "stop", Usage(input=11_000, output=1)) is None
    assert no_output_room(long, "stop", Usage()) is None


def test_hidden_reasoning_that_used_up_max_tokens_is_not_a_context_overflow() -> None:
    assert no_output_room(call_with(model=SMALL), "length", Usage(input=10, output=900)) is None


@pytest.mark.behaviour("local-server-context")
def test_an_empty_truncated_answer_of_a_local_server_fails_as_context_overflow() -> None:
    answer = decoded(
        chunk({"role": "assistant", "content": ""}),
        chunk(finish="length"),
        counts(prompt_tokens=0, completion_tokens=0),
    )

    assert isinstance(answer.failure, ContextOverflow)
    assert answer.message.raw_stop_reason == "length"
