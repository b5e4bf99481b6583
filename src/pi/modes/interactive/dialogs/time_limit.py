"""How long a question waits for its answer, and what the person sees of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, TypeVar

from pi.base.tasks import TaskScope
from pi.modes.interactive.dialogs.questions import left_to_the_caller
from pi.modes.interactive.ui import Ui

T = TypeVar("T")


class TimeLimit:
    """Counts from now on; without ``seconds`` there is no hurry."""

    def __init__(self, ui: Ui, seconds: float | None) -> None:
        self._ui = ui
        self._clock = ui.clock
        self._end = None if seconds is None else self._clock.monotonic() + seconds

    def shown(self) -> str:
        """What is left of it, to stand beside the title of a dialog."""
        return "" if self._end is None else f"({math.ceil(self._left(self._end))}s)"

    async def keep(self, answer: Coroutine[Any, Any, T | None]) -> T | None:
        """The answer, or nothing if it takes longer; the dialog is then taken away."""
        if self._end is None:
            return await answer
        async with TaskScope(report=left_to_the_caller) as tasks:
            asked = tasks.start(answer, name="dialog")
            over = tasks.start(self._count_down(self._end), name="time for the dialog")
            await asyncio.wait((asked, over), return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else None

    async def _count_down(self, end: float) -> None:
        while left := self._left(end):
            # Up to the moment in which another number is shown.
            await self._clock.sleep(left % 1 or 1)
            self._ui.request_render()

    def _left(self, end: float) -> float:
        return max(end - self._clock.monotonic(), 0)
