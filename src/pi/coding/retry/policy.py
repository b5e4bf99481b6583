"""The policy that asks again when an answer failed for a reason that may pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from pi.agent.policy import Boundary, Next, Policy, StopRun
from pi.agent.waiting import Abort, Aborted
from pi.ai.messages import AssistantMessage
from pi.base.clock import Clock
from pi.base.records import replace
from pi.coding.retry.backoff import RetrySettings, delay_ms
from pi.coding.retry.events import AutoRetryEnd, AutoRetryStart

Tell: TypeAlias = Callable[[Any], Awaitable[None]]
LeaveOut: TypeAlias = Callable[[AssistantMessage], Awaitable[None]]
"""Takes a failed answer out of what the model is shown; it stays in the log."""

CANCELLED = "Retry cancelled"


class RetryPolicy(Policy):
    """Counts the failures in a row, and waits longer after each."""

    def __init__(
        self,
        settings: Callable[[], RetrySettings],
        *,
        tell: Tell,
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
            self._waiting.want()
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
