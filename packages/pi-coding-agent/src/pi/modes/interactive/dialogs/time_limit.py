"""The time limit of a question, and its countdown."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, TypeVar

from pi.base.tasks import TaskScope
from pi.modes.interactive.dialogs.questions import ignore_task_error
from pi.modes.interactive.ui import Ui

T = TypeVar("T")


class TimeLimit:
    """The time limit of a dialog, with a countdown from its creation; none without ``seconds``."""

    def __init__(self, ui: Ui, seconds: float | None) -> None:
        self._ui = ui
        self._clock = ui.clock
        self._end = None if seconds is None else self._clock.monotonic() + seconds

    def remaining_text(self) -> str:
        """The remaining time, shown beside the title."""
        return "" if self._end is None else f"({math.ceil(self._remaining(self._end))}s)"

    async def wait_for(
        self, answer: Coroutine[Any, Any, T | None], on_timeout: T | None = None
    ) -> T | None:
        """Return the answer, or ``on_timeout``; the dialog is then closed."""
        if self._end is None:
            return await answer
        async with TaskScope(report=ignore_task_error) as tasks:
            dialog = tasks.start(answer, name="dialog")
            over = tasks.start(self._count_down(self._end), name="time for the dialog")
            await asyncio.wait((dialog, over), return_when=asyncio.FIRST_COMPLETED)
            return dialog.result() if dialog.done() else on_timeout

    async def _count_down(self, end: float) -> None:
        while remaining := self._remaining(end):
            # Sleeps until the displayed number changes.
            await self._clock.sleep(remaining % 1 or 1)
            self._ui.request_render()

    def _remaining(self, end: float) -> float:
        return max(end - self._clock.monotonic(), 0)
