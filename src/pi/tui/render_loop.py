"""When to paint: soon, but never more often than a screen can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

FRAME_SECONDS = 1 / 60
SLOWEST_FRAME_SECONDS = 0.25


class Timer(Protocol):
    """Something that will happen unless it is cancelled."""

    def cancel(self) -> None:
        """Keep it from happening."""
        ...


class Timers(Protocol):
    """What an asyncio event loop has for timers."""

    def time(self) -> float:
        """Seconds that never run backwards."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call back once after ``delay`` seconds.

        Input that arrived by then is handled first: an asyncio loop runs what the sockets have
        before the timers that are due.
        """
        ...


class RenderLoop:
    """Collects requests and paints them as one frame.

    While the terminal has not taken the last frame (``is_busy``) the next one waits, so a slow
    terminal gets fewer frames instead of a growing backlog.
    """

    def __init__(
        self, timers: Timers, paint: Callable[[], None], *, is_busy: Callable[[], bool]
    ) -> None:
        self._timers = timers
        self._paint = paint
        self._is_busy = is_busy
        self._pending: Timer | None = None
        self._painted_at = timers.time() - FRAME_SECONDS
        self._pause = FRAME_SECONDS

    @property
    def is_pending(self) -> bool:
        """Whether a frame was requested and not painted yet."""
        return self._pending is not None

    def request(self) -> None:
        """Paint soon; further requests until then change nothing."""
        if self._pending is None:
            wait = self._painted_at + FRAME_SECONDS - self._timers.time()
            self._pending = self._timers.call_later(max(wait, 0.0), self._fire)

    def paint_now(self) -> None:
        """Paint at once, and count it as the frame that may have been requested."""
        self.stop()
        self._painted_at = self._timers.time()
        self._paint()

    def stop(self) -> None:
        """Forget a request."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        if self._is_busy():
            self._pause = min(self._pause * 2, SLOWEST_FRAME_SECONDS)
            self._pending = self._timers.call_later(self._pause, self._fire)
            return
        self._pause = FRAME_SECONDS
        self.paint_now()


class Settle:
    """Waits until something has not happened again for a while, e.g. steps of a resize."""

    def __init__(self, timers: Timers, act: Callable[[], None], *, seconds: float) -> None:
        self._timers = timers
        self._act = act
        self._seconds = seconds
        self._pending: Timer | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it happened and is not settled yet."""
        return self._pending is not None

    def restart(self) -> None:
        """It happened; wait from now on."""
        self.stop()
        self._pending = self._timers.call_later(self._seconds, self._fire)

    def stop(self) -> None:
        """Wait no longer, and do nothing."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        self._act()
