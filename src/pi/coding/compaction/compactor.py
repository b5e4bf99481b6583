"""One compaction at a time: its beginning, its end and its abort, told to everybody."""

from __future__ import annotations

import asyncio

from msgspec import UNSET

from pi.agent.abort import Abort, Aborted
from pi.agent.compaction.errors import CompactionFailed
from pi.base.records import replace
from pi.coding.compaction.events import (
    CompactFailed,
    CompactionEnd,
    CompactionReason,
    CompactionResult,
    CompactionStart,
)
from pi.coding.compaction.request import CompactionRequest, CompactionSession

FAILED: dict[CompactionReason, str] = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "idle": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
    "incomplete": "Incomplete response recovery failed",
}


class Compactor:
    """Its owner keeps runs and moves in the tree away while it is ``busy``."""

    def __init__(self, around: CompactionSession) -> None:
        self._around = around
        self._abort: Abort | None = None

    @property
    def busy(self) -> bool:
        """Whether a compaction is under way."""
        return self._abort is not None

    def abort(self) -> None:
        """End the compaction that is under way; nothing of it is stored."""
        if self._abort is not None:
            self._abort.request()

    async def compact(self, wish: CompactionRequest) -> CompactionResult:
        """Make the conversation shorter, or raise ``CompactionFailed``; either is told."""
        if self._abort is not None:
            raise CompactionFailed("aborted", "Another compaction is under way.")
        from pi.coding.compaction.execution import CompactionRun  # most sessions never compact

        self._abort = abort = Abort(self._around.clock)
        end = CompactionEnd(reason=wish.reason)
        await self._around.tell(CompactionStart(reason=wish.reason))
        try:
            result = await abort.wait(CompactionRun(wish, self._around).carry_out)
        except (Aborted, asyncio.CancelledError) as cut:
            end = replace(end, aborted=True)
            if isinstance(cut, asyncio.CancelledError):
                raise
            raise CompactionFailed("aborted", "Compaction cancelled") from None
        except CompactionFailed as problem:
            end = _failed(end, problem)
            raise
        else:
            end = replace(end, result=result, will_retry=wish.will_retry)
            return result
        finally:
            self._abort = None
            await self._tell(end)

    async def _tell(self, end: CompactionEnd) -> None:
        await self._around.tell(end)
        if end.result is UNSET:
            failed = CompactFailed(
                reason=end.reason,
                error_message=end.error_message or "",
                aborted=end.aborted,
                will_retry=end.will_retry,
            )
            await self._around.bus.emit(failed)


def _failed(end: CompactionEnd, problem: CompactionFailed) -> CompactionEnd:
    if problem.code == "aborted":
        return replace(end, aborted=True)
    return replace(end, error_message=f"{FAILED[end.reason]}: {problem.message}")
