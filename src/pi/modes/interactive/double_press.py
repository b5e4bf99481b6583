"""Pressing a key twice, which means something else than pressing it once."""

from __future__ import annotations

from pi.base.clock import Clock

TWICE_SECONDS = 0.5
"""Within this time a second press counts as two."""


class DoublePress:
    """Remembers when one key was pressed last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def is_second(self) -> bool:
        """Note a press; whether it makes two with the one before, which then counts no more."""
        now, last = self._clock.monotonic(), self._last
        is_second = last is not None and now - last <= TWICE_SECONDS
        self._last = None if is_second else now
        return is_second
