"""Where prompts wait while nothing may be said, as during a compaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pi.base.errors import PiError
from pi.base.tasks import Signal


class PromptGate:
    """Open unless somebody has a reason to keep it closed."""

    def __init__(self) -> None:
        self._reasons = 0
        self._given_up = 0
        """How often those that wait were told not to."""
        self._changed = Signal()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """For as long as the block lasts, what people say waits."""
        self._reasons += 1
        try:
            yield
        finally:
            self._reasons -= 1
            self._changed.tell()

    async def passed(self) -> None:
        """Until it is open; ``PiError`` if those that wait are given up meanwhile."""
        before = self._given_up
        while self._reasons:
            await self._changed.wait()
            if self._given_up != before:
                raise PiError("The prompt was aborted before its run began.")

    def give_up(self) -> None:
        """Those that wait will not begin."""
        self._given_up += 1
        self._changed.tell()
