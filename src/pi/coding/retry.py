"""The policy that asks again when an answer failed for a reason that may pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from pi.agent.abort import Abort, Aborted
from pi.agent.policy import Boundary, Next, Policy, StopRun
from pi.ai.errors import ProviderError, RateLimited
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.base.records import Record, replace

# Whether and when to ask again. Pure.


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


# What is told of retries; the JSON form is that of JSON mode and RPC.


class AutoRetryStart(Record, tag="auto_retry_start"):
    """A failed answer will be asked for again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Record, tag="auto_retry_end"):
    """Asking again has worked, or is given up."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class SummarizationRetryScheduled(Record, tag="summarization_retry_scheduled"):
    """A summary failed and will be asked for again after a wait."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(Record, tag="summarization_retry_attempt_start"):
    """The summary is asked for again."""

    source: Literal["compaction", "branchSummary"]
    reason: str | UnsetType = UNSET


class SummarizationRetryFinished(Record, tag="summarization_retry_finished"):
    """No more attempts follow, whatever came of them."""


EmitRetryEvent: TypeAlias = Callable[[Any], Awaitable[None]]
LeaveOut: TypeAlias = Callable[[AssistantMessage], Awaitable[None]]
"""Takes a failed answer out of what the model is shown; it stays in the log."""

CANCELLED = "Retry cancelled"


class RetryPolicy(Policy):
    """Counts the failures in a row, and waits longer after each."""

    def __init__(
        self,
        settings: Callable[[], RetrySettings],
        *,
        tell: EmitRetryEvent,
        leave_out: LeaveOut,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._tell = tell
        self._leave_out = leave_out
        self._clock = clock
        self._attempt = 0
        self._waiting: Abort | None = None

    @property
    def waiting(self) -> bool:
        """Whether the next attempt is being waited for."""
        return self._waiting is not None

    async def cancel(self) -> None:
        """Give up the retry that is being waited for; its end has then been told."""
        if self._waiting is not None:
            self._waiting.request()
            await self._over(success=False, error=CANCELLED)

    async def at_boundary(self, at: Boundary) -> Next:
        """After a failed answer: again, as a run of its own, unless somebody has claimed."""
        if at.kind == "prompt":
            self._attempt = 0
        if at.kind != "turn" or at.answer is None or at.next.claimed:
            return at.next
        if at.outcome != "error":
            await self._over(success=at.outcome == "completed", error=CANCELLED)
            return at.next
        wait = delay_ms(self._attempt + 1, at.error, self._settings())
        if wait is None:
            await self._over(success=False, error=at.answer.error_message or "")
            return at.next
        self._attempt += 1
        prepare = partial(self._prepare, at.answer, wait)
        return replace(at.next, action="again", new_run=True, prepare=prepare)

    async def _prepare(self, failed: AssistantMessage, wait: int) -> None:
        start = AutoRetryStart(
            attempt=self._attempt,
            max_attempts=self._settings().max_retries,
            delay_ms=wait,
            error_message=failed.error_message or "",
        )
        await self._tell(start)
        await self._leave_out(failed)
        self._waiting = Abort(self._clock)
        try:
            await self._waiting.wait(partial(self._clock.sleep, wait / 1000))
        except (Aborted, asyncio.CancelledError) as end:
            await self._over(success=False, error=CANCELLED)
            if isinstance(end, Aborted):  # only the retry is given up; the run ends in order
                raise StopRun(CANCELLED) from None
            raise
        finally:
            self._waiting = None

    async def _over(self, *, success: bool, error: str) -> None:
        """Tell the end of a retry, if one was under way."""
        attempt, self._attempt = self._attempt, 0
        if attempt:
            end = AutoRetryEnd(success=success, attempt=attempt)
            await self._tell(end if success else replace(end, final_error=error))


# Requests beside the conversation, such as summaries, asked again like those within it.


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
    tell: EmitRetryEvent,
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
