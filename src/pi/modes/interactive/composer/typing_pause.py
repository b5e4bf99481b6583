"""Whether somebody is writing: what asks unbidden waits until they pause."""

from __future__ import annotations

from pi.base.clock import Clock

PAUSE_SECONDS = 0.7
"""Longer than people leave between two keys of a sentence."""


class TypingPause:
    """Knows when a key last went into what is being written.

    A dialog that came up under the fingers of its reader would swallow what they type, and an
    Enter that was meant to send a message would answer it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def typed(self) -> None:
        """A key went into the text."""
        self._last = self._clock.monotonic()

    def turned(self) -> None:
        """Whoever wrote now wants something else: what asks next was called by them."""
        self._last = None

    @property
    def left(self) -> float:
        """Seconds until a pause, if no other key comes; 0 while nobody writes."""
        if self._last is None:
            return 0.0
        return max(self._last + PAUSE_SECONDS - self._clock.monotonic(), 0.0)

    async def wait(self) -> None:
        """Until nobody writes; at once if nobody does."""
        while left := self.left:
            await self._clock.sleep(left)
