"""Requests outside the conversation are retried, and the retries are emitted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.ai.messages import AssistantMessage, Text
from pi.coding.retry import (
    Attempt,
    RetrySettings,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    with_retries,
)
from pi.testing import FakeClock

START_EVENT = SummarizationRetryAttemptStart(source="compaction", reason="threshold")
FAILED = Attempt(
    answer=AssistantMessage(stop_reason="error", error_message="503: overloaded"),
    failure=ProviderUnavailable("503: overloaded", status=503),
)
GOOD = Attempt(answer=AssistantMessage(content=(Text(text="notes"),)))


async def asked(
    *attempts: Attempt, settings: RetrySettings | None = None, cancel: bool = False
) -> tuple[AssistantMessage | None, list[Any]]:
    emitted: list[Any] = []
    remaining_attempts = list(attempts)
    clock = FakeClock()

    async def emit(event: Any) -> None:
        emitted.append(event)

    async def once() -> Attempt:
        return remaining_attempts.pop(0)

    work = asyncio.create_task(
        with_retries(
            once, settings or RetrySettings(), start_event=START_EVENT, emit=emit, clock=clock
        )
    )
    await clock.advance(1 if cancel else 60)
    if cancel:
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return None, emitted
    return (await work).answer, emitted


async def test_a_successful_response_is_returned_without_events() -> None:
    assert await asked(GOOD) == (GOOD.answer, [])


@pytest.mark.behaviour("compaction-retries-once")
async def test_a_temporary_failure_is_retried_and_emitted() -> None:
    answer, emitted = await asked(FAILED, GOOD)

    assert answer == GOOD.answer
    assert emitted == [
        SummarizationRetryScheduled(
            attempt=1, max_attempts=3, delay_ms=2000, error_message="503: overloaded"
        ),
        START_EVENT,
        SummarizationRetryFinished(),
    ]


async def test_the_last_failure_is_returned_when_all_retries_fail() -> None:
    answer, emitted = await asked(FAILED, FAILED, settings=RetrySettings(max_retries=1))

    assert answer == FAILED.answer
    assert emitted[-1] == SummarizationRetryFinished()


async def test_a_cancelled_wait_emits_its_end() -> None:
    _, emitted = await asked(FAILED, cancel=True)

    assert emitted[-1] == SummarizationRetryFinished()
