"""Retries: backoff, the retry policy of runs, retried side requests, retry events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from pi.agent.policy import Abort, Aborted, Boundary, Next, Policy, StopRun
from pi.ai.errors import ProviderError, RateLimited
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.base.records import Record, replace


class RetrySettings(Record):
    """The setting ``retry``; names and defaults are those of the settings file."""

    enabled: bool = True
    max_retries: Annotated[int, Meta(ge=0)] = 3
    base_delay_ms: Annotated[int, Meta(ge=0)] = 2000
    """Delay before the first retry; doubled for each further one."""
    max_agent_delay_ms: Annotated[int, Meta(ge=0)] = 60_000
    """Longest delay. If the server requests a longer one, there is no retry."""


def delay_ms(attempt: int, failure: ProviderError | None, settings: RetrySettings) -> int | None:
    """Return the delay before ``attempt`` (the first is 1); ``None`` if a retry is pointless.

    A longer delay requested by the server is used; beyond the limit there is no retry.
    """
    if failure is None or not failure.retryable:
        return None
    if not settings.enabled or attempt > settings.max_retries:
        return None
    delay = settings.base_delay_ms << (attempt - 1)
    retry_after = failure.retry_after if isinstance(failure, RateLimited) else None
    if retry_after is not None:
        delay = max(delay, round(retry_after * 1000))
        return delay if delay <= settings.max_agent_delay_ms else None
    return min(delay, settings.max_agent_delay_ms)


def exceeds_delay_limit(failure: ProviderError | None, settings: RetrySettings) -> bool:
    """Whether the server requests a longer delay than ``settings`` allow."""
    retry_after = failure.retry_after if isinstance(failure, RateLimited) else None
    return retry_after is not None and round(retry_after * 1000) > settings.max_agent_delay_ms


# Events, in the form of JSON mode and RPC ---------------------------------------------------------


class AutoRetryStart(Record, tag="auto_retry_start"):
    """A failed response will be requested again after a delay."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Record, tag="auto_retry_end"):
    """The retry has succeeded or was given up."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class SummarizationRetryScheduled(Record, tag="summarization_retry_scheduled"):
    """A failed summary will be requested again after a delay."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(Record, tag="summarization_retry_attempt_start"):
    """The summary is requested again."""

    source: Literal["compaction", "branchSummary"]
    reason: str | UnsetType = UNSET


class SummarizationRetryFinished(Record, tag="summarization_retry_finished"):
    """No more attempts follow."""


EmitRetryEvent: TypeAlias = Callable[[Any], Awaitable[None]]
LeaveOut: TypeAlias = Callable[[AssistantMessage], Awaitable[None]]
"""Hides a failed response from the model; it stays in the log."""

CANCELLED = "Retry cancelled"


class RetryPolicy(Policy):
    """Retries failed responses with an increasing delay."""

    def __init__(
        self,
        settings: Callable[[], RetrySettings],
        *,
        emit: EmitRetryEvent,
        leave_out: LeaveOut,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._emit = emit
        self._leave_out = leave_out
        self._clock = clock
        self._attempt = 0
        self._waiting: Abort | None = None

    @property
    def waiting(self) -> bool:
        """Whether a retry is scheduled."""
        return self._waiting is not None

    async def cancel(self) -> bool:
        """Cancel the scheduled retry; its end event has been emitted on return.

        Returns False if none is scheduled.
        """
        if self._waiting is None:
            return False
        self._waiting.request()
        await self._emit_end(success=False, error=CANCELLED)
        return True

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Start a new run after a retryable failure, unless another policy claimed the boundary."""
        if boundary.kind == "prompt":
            self._attempt = 0
        if boundary.kind != "turn" or boundary.answer is None or boundary.next.claimed:
            return boundary.next
        if boundary.outcome != "error":
            await self._emit_end(success=boundary.outcome == "completed", error=CANCELLED)
            return boundary.next
        wait = delay_ms(self._attempt + 1, boundary.error, self._settings())
        if wait is None:
            await self._emit_end(success=False, error=boundary.answer.error_message or "")
            return boundary.next
        self._attempt += 1
        prepare = partial(self._prepare, boundary.answer, wait)
        return replace(boundary.next, action="again", new_run=True, prepare=prepare)

    async def _prepare(self, failed: AssistantMessage, wait: int) -> None:
        start = AutoRetryStart(
            attempt=self._attempt,
            max_attempts=self._settings().max_retries,
            delay_ms=wait,
            error_message=failed.error_message or "",
        )
        await self._emit(start)
        await self._leave_out(failed)
        self._waiting = Abort(self._clock)
        try:
            await self._waiting.wait(partial(self._clock.sleep, wait / 1000))
        except (Aborted, asyncio.CancelledError) as end:
            await self._emit_end(success=False, error=CANCELLED)
            if isinstance(end, Aborted):  # only the retry is cancelled; the run ends normally
                raise StopRun(CANCELLED) from None
            raise
        finally:
            self._waiting = None

    async def _emit_end(self, *, success: bool, error: str) -> None:
        """Emit the end of a retry, if one was active."""
        attempt, self._attempt = self._attempt, 0
        if attempt:
            end = AutoRetryEnd(success=success, attempt=attempt)
            await self._emit(end if success else replace(end, final_error=error))


class Attempt(Record):
    """Result of one request."""

    answer: AssistantMessage
    failure: ProviderError | None = None


Once: TypeAlias = Callable[[], Awaitable[Attempt]]


async def with_retries(
    once: Once,
    settings: RetrySettings,
    *,
    start_event: SummarizationRetryAttemptStart,
    emit: EmitRetryEvent,
    clock: Clock,
) -> Attempt:
    """Return the first successful attempt of ``once``, or the last failed one.

    For requests outside the conversation, such as summaries. ``start_event`` is emitted before each
    retry.
    """
    attempt, retried = await once(), 0
    while (wait := delay_ms(retried + 1, attempt.failure, settings)) is not None:
        retried += 1
        scheduled = SummarizationRetryScheduled(
            attempt=retried,
            max_attempts=settings.max_retries,
            delay_ms=wait,
            error_message=attempt.answer.error_message or "",
        )
        await emit(scheduled)
        try:
            await clock.sleep(wait / 1000)
            await emit(start_event)
            attempt = await once()
        except BaseException:
            await emit(SummarizationRetryFinished())
            raise
    if retried:
        await emit(SummarizationRetryFinished())
    return attempt
