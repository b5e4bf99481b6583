"""When to paint: the frame limit and the debounce of resizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pi.base.records import Record
from pi.tui.screen.pane_match import PaneText
from pi.tui.terminal import Size, Timer, Timers

FRAME_SECONDS = 1 / 60
MAX_FRAME_SECONDS = 0.25


class RenderLoop:
    """Combines render requests into frames.

    While the terminal has not taken the last frame (``is_busy``), the next one waits. A slow
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
        """Schedules a frame. Further requests before it have no effect."""
        if self._pending is None:
            wait = self._painted_at + FRAME_SECONDS - self._timers.time()
            self._pending = self._timers.call_later(max(wait, 0.0), self._fire)

    def paint_now(self) -> None:
        """Paints immediately and cancels a scheduled frame."""
        self.stop()
        self._painted_at = self._timers.time()
        self._paint()

    def stop(self) -> None:
        """Cancels a scheduled frame."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        if self._is_busy():
            self._pause = min(self._pause * 2, MAX_FRAME_SECONDS)
            self._pending = self._timers.call_later(self._pause, self._fire)
            return
        self._pause = FRAME_SECONDS
        self.paint_now()


class Debounce:
    """Calls ``act`` when nothing has happened for a while, e.g. after the steps of a resize."""

    def __init__(self, timers: Timers, act: Callable[[], None], *, seconds: float) -> None:
        self._timers = timers
        self._act = act
        self._seconds = seconds
        self._pending: Timer | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a call is scheduled."""
        return self._pending is not None

    def restart(self) -> None:
        """Starts to wait again."""
        self.stop()
        self._pending = self._timers.call_later(self._seconds, self._fire)

    def stop(self) -> None:
        """Cancels the call."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        self._act()


PANE_READ_SECONDS = 2.5
"""Timeout for reading a tmux pane."""
MAX_PANE_READS = 5
"""Attempts to read a pane of the reported size. After that, its contents are ignored."""

ReadPane: TypeAlias = Callable[[Callable[[PaneText | None], None]], Callable[[], object]]
"""Reads the pane and calls back with its text, or None. Returns a function that cancels."""


class PaneReader(Record):
    """Functions to read a pane after a resize."""

    size: Callable[[], Size]
    """Returns the size that the terminal reported last."""
    when_processed: Callable[[Callable[[], None]], None]
    """Calls back when the pane has processed everything that was written."""
    read: ReadPane


class ResizeTracker:
    """Waits until the size is stable, then reads the pane, if possible.

    ``act`` receives the contents of the pane. Another resize restarts the wait.
    """

    def __init__(
        self,
        timers: Timers,
        act: Callable[[PaneText | None], None],
        *,
        seconds: float,
        pane_reader: PaneReader | None = None,
    ) -> None:
        self._timers = timers
        self._act = act
        self._pane_reader = pane_reader
        self._settle = Debounce(timers, self._settled, seconds=seconds)
        self._overdue: Timer | None = None
        self._cancel_read: Callable[[], object] | None = None
        self._reads = 0

    @property
    def is_pending(self) -> bool:
        """Whether painting must wait."""
        return self._settle.is_pending or self._overdue is not None

    def restart(self) -> None:
        """Starts to wait again after a change of the size."""
        self.stop()
        self._settle.restart()

    def stop(self) -> None:
        """Cancels the wait."""
        self._settle.stop()
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        if self._cancel_read is not None:
            self._cancel_read()
            self._cancel_read = None

    def _settled(self) -> None:
        if self._pane_reader is None:
            self._act(None)
            return
        overdue = self._timers.call_later(PANE_READ_SECONDS, lambda: self._received(None))
        self._overdue = overdue
        self._pane_reader.when_processed(lambda: self._read(overdue))

    def _read(self, deadline: Timer) -> None:
        if self._pane_reader is not None and self._overdue is deadline:
            self._cancel_read = self._pane_reader.read(self._received)

    def _received(self, pane: PaneText | None) -> None:
        if self._pane_reader is None or self._overdue is None:
            return
        self._reads += 1
        size = self._pane_reader.size()
        is_current = pane is None or (pane.width, pane.height) == (size.columns, size.rows)
        if not is_current and self._reads < MAX_PANE_READS:
            self.restart()  # its size will be reported soon; a frame painted now would be misplaced
            return
        self.stop()
        self._reads = 0
        self._act(pane if is_current else None)


def find_pane_reader(env: Mapping[str, str]) -> ReadPane | None:
    """Returns the function that reads the tmux pane named by the environment, if any."""
    pane_id = env.get("TMUX_PANE")
    if not (env.get("TMUX") and pane_id):
        return None

    def read(done: Callable[[PaneText | None], None]) -> Callable[[], object]:
        from pi.tui.terminals.tmux import (
            read_tmux_pane,  # lazy: needed only after a resize inside tmux
        )

        return read_tmux_pane(pane_id, env, done)

    return read
