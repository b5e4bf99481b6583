"""Time limits of handlers, and detection of handlers that block the event loop."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from types import FrameType
from typing import Any, TypeAlias, TypeVar

from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.bus import Owner
from pi.coding.extension_host.containment import HandlerEnded, HandlerTimeout

log = logging.getLogger(__name__)


T = TypeVar("T")

TIME_LIMIT = 30.0
"""Seconds that a handler may run; time with an open dialog does not count."""
MIN_INTERVAL = 0.05
"""Minimum seconds between two checks."""


class WatchedCall:
    """One handler that is awaited."""

    __slots__ = ("dialogs", "expired", "remaining", "since", "task")

    def __init__(self, task: asyncio.Task[object], seconds: float, now: float) -> None:
        self.task = task
        self.remaining = seconds
        self.since = now
        self.dialogs = 0
        self.expired = False

    def pass_time(self, now: float) -> float:
        """Update and return the seconds left; they do not decrease while a dialog is open."""
        if not self.dialogs:
            self.remaining -= now - self.since
        self.since = now
        return self.remaining


_current_call: ContextVar[WatchedCall | None] = ContextVar("extension_call", default=None)


class Watchdog:
    """Cancels handlers that run too long. One task watches all, only while one is awaited."""

    def __init__(self, clock: Clock, seconds: float = TIME_LIMIT) -> None:
        self._clock = clock
        self._seconds = seconds
        self._calls: set[WatchedCall] = set()
        self._watcher: asyncio.Task[None] | None = None

    async def watch(self, work: Awaitable[T]) -> T:
        """Await ``work``. Raises ``HandlerTimeout``; any other cancellation propagates."""
        task = asyncio.current_task()
        assert task is not None
        call = WatchedCall(task, self._seconds, self._clock.monotonic())
        cancelled_before = task.cancelling()
        self._calls.add(call)
        if self._watcher is None:
            self._watcher = Context().run(asyncio.ensure_future, self._watch())
        mark = _current_call.set(call)
        try:
            result = await work
        except asyncio.CancelledError:
            if not call.expired or task.uncancel() > cancelled_before:
                raise
            raise HandlerTimeout(self._seconds) from None
        finally:
            _current_call.reset(mark)
            self._calls.discard(call)
        if call.expired:  # the handler suppressed its cancellation
            task.uncancel()
            raise HandlerTimeout(self._seconds)
        return result

    @contextmanager
    def dialog(self) -> Iterator[None]:
        """Pause the time limit of the current handler while a dialog is open."""
        call = _current_call.get()
        if call is None:
            yield
            return
        call.pass_time(self._clock.monotonic())
        call.dialogs += 1
        try:
            yield
        finally:
            call.pass_time(self._clock.monotonic())
            call.dialogs -= 1

    async def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait({self._watcher})
            self._watcher = None

    async def _watch(self) -> None:
        while self._calls:
            waiting = [call.remaining for call in self._calls if not call.expired]
            await self._clock.sleep(max(min(waiting, default=self._seconds), MIN_INTERVAL))
            now = self._clock.monotonic()
            for call in tuple(self._calls):
                if call.pass_time(now) <= 0 and not call.expired:
                    call.expired = True
                    call.task.cancel()
        self._watcher = None


GRACE_SECONDS = 3.0
"""Seconds within which the event loop has to respond; also the interval of checks."""


class Stalled(Record):
    """A function of an extension that blocks the event loop."""

    owner: Owner
    function: str
    over: threading.Event
    """Set as soon as the event loop responds again."""
    end: Callable[[], None]
    """Makes the function raise ``HandlerEnded``."""


OnStall: TypeAlias = Callable[[Stalled], None]
"""Called in the watching thread; the function may return before the call ends."""


class Stalls:
    """Finds and interrupts extension code that blocks the event loop. Runs in its own thread.

    ``owner_of`` returns the owner of a module. With ``on_stall`` a function can be interrupted; the
    event loop must then run in the main thread, since Python runs signal handlers only there.
    """

    def __init__(
        self,
        owner_of: Callable[[str], Owner | None],
        *,
        on_stall: OnStall | None = None,
        seconds: float = GRACE_SECONDS,
    ) -> None:
        self._owner_of = owner_of
        self._on_stall = on_stall
        self._seconds = seconds
        self._ended = threading.Event()
        self._responded = threading.Event()
        self._should_interrupt = False
        """Whether to interrupt the blocking function."""
        self._thread: threading.Thread | None = None
        self._home = 0
        """The thread of the event loop."""
        self._before: Any = None
        """The previous handler of the signal."""

    def watch(self) -> None:
        """Start watching the running event loop; further calls do nothing."""
        if self._thread is not None:
            return
        self._home = threading.get_ident()
        if self._on_stall is not None and hasattr(signal, "SIGURG"):  # not on Windows
            # SIGURG is not sent by other programs, and is ignored by default.
            self._before = signal.signal(signal.SIGURG, self._interrupt)
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._watch_loop, args=(loop,), name="stalls", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._responded.set()
        if self._thread is not None:
            self._thread.join()
        if self._before is not None:
            signal.signal(signal.SIGURG, self._before)

    def _watch_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(self._seconds):
            self._responded.clear()
            try:
                loop.call_soon_threadsafe(self._responded.set)
            except RuntimeError:  # the loop is closed
                return
            if self._ended.is_set():
                return
            while not self._responded.wait(self._seconds):
                if self._report():
                    self._responded.wait()

    def _report(self) -> bool:
        """Report the blocking function. Returns False if it does not belong to an extension."""
        blocking = self._blocking_function(sys._current_frames().get(self._home))
        if blocking is None:
            return False
        owner, function = blocking
        log.warning("%s does not return from %s and blocks the event loop", owner.path, function)
        if self._on_stall is not None:
            self._on_stall(
                Stalled(owner=owner, function=function, over=self._responded, end=self._end)
            )
        return True

    def _blocking_function(self, frame: FrameType | None) -> tuple[Owner, str] | None:
        """The innermost active function of an extension."""
        while frame is not None:
            owner = self._owner_of(frame.f_globals.get("__name__", ""))
            if owner is not None:
                return owner, frame.f_code.co_name
            frame = frame.f_back
        return None

    def _end(self) -> None:
        if self._before is not None:
            self._should_interrupt = True
            signal.pthread_kill(self._home, signal.SIGURG)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Raise ``HandlerEnded`` in the blocking function, unless it has returned meanwhile."""
        should_interrupt, self._should_interrupt = self._should_interrupt, False
        if should_interrupt and self._blocking_function(frame) is not None:
            raise HandlerEnded
