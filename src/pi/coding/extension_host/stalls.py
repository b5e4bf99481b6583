"""Names the function that holds everything up, and can end it: nobody in the event loop could."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

from pi.base.records import Record
from pi.coding.extension_host.failures import HandlerEnded
from pi.coding.extension_host.order import Owner

log = logging.getLogger(__name__)

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
