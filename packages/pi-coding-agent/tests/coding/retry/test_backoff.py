"""Whether and when a request is retried."""

from __future__ import annotations

import pytest

from pi.ai.errors import (
    BadAnswer,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.coding.retry import RetrySettings, delay_ms

DOWN = ProviderUnavailable("503: overloaded", status=503)


def test_every_retry_waits_twice_as_long_until_there_are_no_more() -> None:
    waits = [delay_ms(attempt, DOWN, RetrySettings()) for attempt in range(1, 5)]

    assert waits == [2000, 4000, 8000, None]


@pytest.mark.parametrize(
    "failure", [BadRequest("no"), QuotaExhausted("pay"), ContextOverflow("full"), None]
)
def test_permanent_failures_are_not_retried(failure: ProviderError | None) -> None:
    assert delay_ms(1, failure, RetrySettings()) is None


def test_an_interrupted_stream_is_retried() -> None:
    assert delay_ms(1, BadAnswer("Stream ended without finish_reason"), RetrySettings()) == 2000


@pytest.mark.parametrize(("hint", "wait"), [(0.1, 2000), (30.0, 30_000), (60.0, 60_000)])
def test_a_longer_delay_of_the_server_is_used(hint: float, wait: int) -> None:
    failure = RateLimited("429: slow down", status=429, retry_after=hint)

    assert delay_ms(1, failure, RetrySettings()) == wait


@pytest.mark.behaviour("one-retry-budget")
def test_no_delay_is_longer_than_the_maximum() -> None:
    settings = RetrySettings(max_retries=9, max_agent_delay_ms=10_000)
    later = RateLimited("429: come back tomorrow", status=429, retry_after=86_400)

    assert [delay_ms(n, DOWN, settings) for n in (1, 2, 3, 4, 9)] == [
        2000,
        4000,
        8000,
        10_000,
        10_000,
    ]
    assert delay_ms(1, later, settings) is None


def test_retries_can_be_switched_off() -> None:
    assert delay_ms(1, DOWN, RetrySettings(enabled=False)) is None
