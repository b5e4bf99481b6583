"""Runs one compaction at a time and announces its start and its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import UNSET

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.policy import Abort, Aborted
from pi.base.records import replace
from pi.coding.compaction.request import CompactionRequest, CompactionSession

if TYPE_CHECKING:
    from pi.coding.compaction.events import CompactionEnd, CompactionReason, CompactionResult

FAILED: dict[CompactionReason, str] = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "idle": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
    "incomplete": "Incomplete response recovery failed",
}


class Compactor:
    """Runs compactions. The owner prevents runs and tree moves while it is ``busy``."""

    def __init__(self, session: CompactionSession) -> None:
        self._session = session
        self._abort: Abort | None = None
        self.handed_off = False
        """Whether the last compaction moved the conversation to another session."""

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        return self._abort is not None

    def abort(self) -> None:
        """Abort the running compaction; nothing of it is stored."""
        if self._abort is not None:
            self._abort.request()

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        """Compact the conversation or raise ``CompactionFailed``; emits events in both cases."""
        if self._abort is not None:
            raise CompactionFailed("aborted", "Another compaction is already running.")
        # Deferred: most sessions never compact.
        from pi.coding.compaction.events import CompactionEnd, CompactionStart
        from pi.coding.compaction.execution import CompactionRun

        self._abort = abort = Abort(self._session.clock)
        end = CompactionEnd(reason=request.reason)
        await self._session.emit(CompactionStart(reason=request.reason))
        run = CompactionRun(request, self._session)
        try:
            result = await abort.wait(run.run)
        except (Aborted, asyncio.CancelledError) as cut:
            end = replace(end, aborted=True)
            if isinstance(cut, asyncio.CancelledError):
                raise
            raise CompactionFailed("aborted", "Compaction cancelled") from None
        except CompactionFailed as error:
            end = _failed(end, error)
            raise
        else:
            handed_off = run.handed_off or UNSET
            end = replace(end, result=result, will_retry=request.will_retry, handed_off=handed_off)
            return result
        finally:
            self._abort, self.handed_off = None, run.handed_off
            await self._emit_end(end)

    async def _emit_end(self, end: CompactionEnd) -> None:
        await self._session.emit(end)
        if end.result is UNSET:
            from pi.coding.compaction.events import SessionCompactFailedEvent  # see ``compact``

            failed = SessionCompactFailedEvent(
                reason=end.reason,
                error_message=end.error_message or "",
                aborted=end.aborted,
                will_retry=end.will_retry,
            )
            await self._session.bus.emit(failed)


def _failed(end: CompactionEnd, error: CompactionFailed) -> CompactionEnd:
    if error.code == "aborted":
        return replace(end, aborted=True)
    reason = f"{error.message} {error.hint}".rstrip()
    return replace(end, error_message=f"{FAILED[end.reason]}: {reason}")
