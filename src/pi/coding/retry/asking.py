"""Requests beside the conversation, such as summaries, asked again like those within it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pi.ai.errors import ProviderError
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.retry.backoff import RetrySettings, delay_ms
from pi.coding.retry.events import (
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)
from pi.coding.retry.policy import Tell


class Attempt(Record):
    """What one request came to."""

    answer: AssistantMessage
    failure: ProviderError | None = None


Once: TypeAlias = Callable[[], Awaitable[Attempt]]


async def with_retries(
    once: Once,
    settings: RetrySettings,
    *,
    began: SummarizationRetryAttemptStart,
    tell: Tell,
    clock: Clock,
) -> Attempt:
    """The first good attempt of ``once``, or its last failed one; ``began`` announces a retry."""
    attempt, retried = await once(), 0
    while (wait := delay_ms(retried + 1, attempt.failure, settings)) is not None:
        retried += 1
        scheduled = SummarizationRetryScheduled(
            attempt=retried,
            max_attempts=settings.max_retries,
            delay_ms=wait,
            error_message=attempt.answer.error_message or "",
        )
        await tell(scheduled)
        try:
            await clock.sleep(wait / 1000)
            await tell(began)
            attempt = await once()
        except BaseException:
            await tell(SummarizationRetryFinished())
            raise
    if retried:
        await tell(SummarizationRetryFinished())
    return attempt
