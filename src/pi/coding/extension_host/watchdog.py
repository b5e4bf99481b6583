"""How long handlers may take: one watcher for all of them, and no timer for each."""

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
from pi.coding.extension_host.errors import HandlerEnded, HandlerTimeout

log = logging.getLogger(__name__)


T = TypeVar("T")

ALLOWANCE = 30.0
"""Seconds that a handler may take; the time in which its dialogs are open does not count."""
SHORTEST_LOOK = 0.05
"""Seconds between two looks at handlers, however little time is left to them."""


class Turn:
    """One handler that is awaited."""

    __slots__ = ("dialogs", "expired", "left", "since", "task")

    def __init__(self, task: asyncio.Task[object], seconds: float, now: float) -> None:
        self.task = task
        self.left = seconds
        self.since = now
        self.dialogs = 0
        self.expired = False

    def pass_time(self, now: float) -> float:
        """Seconds that are left at ``now``; they stand still while a dialog is open."""
        if not self.dialogs:
            self.left -= now - self.since
        self.since = now
        return self.left


_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


class Watchdog:
    """Cancels handlers that take too long. Watches only while one is awaited."""

    def __init__(self, clock: Clock, seconds: float = ALLOWANCE) -> None:
        self._clock = clock
        self._seconds = seconds
        self._turns: set[Turn] = set()
        self._watcher: asyncio.Task[None] | None = None

    async def watch(self, work: Awaitable[T]) -> T:
        """What ``work`` gives, or ``HandlerTimeout``; any other cancellation passes through."""
        task = asyncio.current_task()
        assert task is not None
        turn = Turn(task, self._seconds, self._clock.monotonic())
        cancelled_before = task.cancelling()
        self._turns.add(turn)
        if self._watcher is None:
            self._watcher = Context().run(asyncio.ensure_future, self._watch())
        mark = _turn.set(turn)
        try:
            result = await work
        except asyncio.CancelledError:
            if not turn.expired or task.uncancel() > cancelled_before:
                raise
            raise HandlerTimeout(self._seconds) from None
        finally:
            _turn.reset(mark)
            self._turns.discard(turn)
        if turn.expired:  # it has swallowed its cancellation
            task.uncancel()
            raise HandlerTimeout(self._seconds)
        return result

    @contextmanager
    def dialog(self) -> Iterator[None]:
        """Stop the clock of the handler that is at work, as long as the person is asked."""
        turn = _turn.get()
        if turn is None:
            yield
            return
        turn.pass_time(self._clock.monotonic())
        turn.dialogs += 1
        try:
            yield
        finally:
            turn.pass_time(self._clock.monotonic())
            turn.dialogs -= 1

    async def close(self) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait({self._watcher})
            self._watcher = None

    async def _watch(self) -> None:
        while self._turns:
            waiting = [turn.left for turn in self._turns if not turn.expired]
            await self._clock.sleep(max(min(waiting, default=self._seconds), SHORTEST_LOOK))
            now = self._clock.monotonic()
            for turn in tuple(self._turns):
                if turn.pass_time(now) <= 0 and not turn.expired:
                    turn.expired = True
                    turn.task.cancel()
        self._watcher = None


# Names the function that holds everything up, and can end it: nobody in the event loop could.


PATIENCE = 3.0
"""Seconds in which the event loop has to answer, and between two looks at it."""


class Stalled(Record):
    """A function of an extension that does not return."""

    owner: Owner
    function: str
    over: threading.Event
    """Set as soon as the event loop goes on."""
    end: Callable[[], None]
    """Has the function raise ``HandlerEnded``, wherever it is."""


OnStall: TypeAlias = Callable[[Stalled], None]
"""Called beside the thread that hangs; what it calls about may be over when it returns."""


class Stalls:
    """A thread that looks, now and then, whether the event loop still takes calls.

    ``whose`` tells who owns a module. With ``on_stall`` a function can be ended; the event loop
    must be that of the main thread then, since only this one is interrupted by signals.
    """

    def __init__(
        self,
        whose: Callable[[str], Owner | None],
        *,
        on_stall: OnStall | None = None,
        seconds: float = PATIENCE,
    ) -> None:
        self._whose = whose
        self._on_stall = on_stall
        self._seconds = seconds
        self._ended = threading.Event()
        self._beat = threading.Event()
        self._is_unwanted = False
        """Whether the function that hangs is to be ended."""
        self._thread: threading.Thread | None = None
        self._home = 0
        """The thread of the event loop."""
        self._before: Any = None
        """What the signal did that ends a function."""

    def watch(self) -> None:
        """Begin to look at the event loop that runs; once is enough."""
        if self._thread is not None:
            return
        self._home = threading.get_ident()
        if self._on_stall is not None and hasattr(signal, "SIGURG"):  # not on Windows
            # It is one that nobody sends, and that does no harm if somebody does.
            self._before = signal.signal(signal.SIGURG, self._interrupt)
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._look, args=(loop,), name="stalls", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        self._beat.set()
        if self._thread is not None:
            self._thread.join()
        if self._before is not None:
            signal.signal(signal.SIGURG, self._before)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ended.wait(self._seconds):
            self._beat.clear()
            try:
                loop.call_soon_threadsafe(self._beat.set)
            except RuntimeError:  # the loop is closed
                return
            if self._ended.is_set():
                return
            while not self._beat.wait(self._seconds):
                if self._tell():
                    self._beat.wait()

    def _tell(self) -> bool:
        """Name who holds everything up; False if it is nobody's extension."""
        found = self._culprit(sys._current_frames().get(self._home))
        if found is None:
            return False
        owner, function = found
        log.warning("%s does not return from %s: nothing else can happen", owner.path, function)
        if self._on_stall is not None:
            self._on_stall(Stalled(owner=owner, function=function, over=self._beat, end=self._end))
        return True

    def _culprit(self, frame: FrameType | None) -> tuple[Owner, str] | None:
        """The innermost function of an extension that is being called."""
        while frame is not None:
            owner = self._whose(frame.f_globals.get("__name__", ""))
            if owner is not None:
                return owner, frame.f_code.co_name
            frame = frame.f_back
        return None

    def _end(self) -> None:
        if self._before is not None:
            self._is_unwanted = True
            signal.pthread_kill(self._home, signal.SIGURG)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Raise in the function that is to be ended, unless it has returned meanwhile."""
        is_unwanted, self._is_unwanted = self._is_unwanted, False
        if is_unwanted and self._culprit(frame) is not None:
            raise HandlerEnded
