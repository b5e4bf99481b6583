"""Whether and when to ask again. Pure."""

from __future__ import annotations

from typing import Annotated

from pi.ai.errors import ProviderError, RateLimited
from pi.base.records import Meta, Record


class RetrySettings(Record):
    """With the names and defaults of the settings file."""

    enabled: bool = True
    max_retries: Annotated[int, Meta(ge=0)] = 3
    base_delay_ms: Annotated[int, Meta(ge=0)] = 2000
    """Before the first retry; doubled for every further one."""
    max_agent_delay_ms: Annotated[int, Meta(ge=0)] = 60_000
    """Longer than this nobody waits: the failure is told instead."""


def delay_ms(attempt: int, failure: ProviderError | None, settings: RetrySettings) -> int | None:
    """How long to wait before ``attempt``, the first being 1; ``None`` when asking again is vain.

    A server's own word counts, as long as it is a wait that somebody would sit through.
    """
    if failure is None or not failure.retryable:
        return None
    if not settings.enabled or attempt > settings.max_retries:
        return None
    wanted = settings.base_delay_ms << (attempt - 1)
    hinted = failure.retry_after if isinstance(failure, RateLimited) else None
    if hinted is not None:
        wanted = max(wanted, round(hinted * 1000))
        return wanted if wanted <= settings.max_agent_delay_ms else None
    return min(wanted, settings.max_agent_delay_ms)


def asks_for_too_long_a_wait(failure: ProviderError | None, settings: RetrySettings) -> bool:
    """Whether the server wants a longer pause than ``settings`` allow; asking at once fails."""
    hinted = failure.retry_after if isinstance(failure, RateLimited) else None
    return hinted is not None and round(hinted * 1000) > settings.max_agent_delay_ms
