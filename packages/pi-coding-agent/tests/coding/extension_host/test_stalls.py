from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pi.coding.bus import Owner
from pi.coding.extension_host.containment import HandlerEnded
from pi.coding.extension_host.watchdog import OnStall, Stalled, Stalls

ME = Owner(name="me", path="/me.py")
SOON = 0.01
AGES = 60.0

posix = pytest.mark.skipif(os.name != "posix", reason="only there a signal reaches a thread")


class Extension:
    """This file as an extension that blocks the event loop."""

    def __init__(self) -> None:
        self._hangs = False

    def owner_of(self, module: str) -> Owner | None:
        """The owner of a module."""
        return ME if self._hangs and module == __name__ else None

    def hang(self, wait: Callable[[], object]) -> None:
        """Act as an extension while ``wait`` runs."""
        self._hangs = True
        try:
            wait()
        finally:
            self._hangs = False


@contextmanager
def watching(
    owner_of: Callable[[str], Owner | None], on_stall: OnStall | None = None
) -> Iterator[Stalls]:
    """Watches the running event loop inside the block."""
    stalls = Stalls(owner_of, on_stall=on_stall, seconds=SOON)
    stalls.watch()
    try:
        yield stalls
    finally:
        stalls.close()


def spin() -> None:
    """Busy-wait, bounded in case it is not interrupted."""
    end = time.monotonic() + AGES
    while time.monotonic() < end:
        pass


async def test_a_blocking_function_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    named = threading.Event()

    class RecordingHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            named.set()

    handler, extension = RecordingHandler(), Extension()
    logging.getLogger("pi.coding.extension_host.watchdog").addHandler(handler)
    with watching(extension.owner_of) as stalls:
        stalls.watch()
        extension.hang(lambda: named.wait(AGES))
    logging.getLogger("pi.coding.extension_host.watchdog").removeHandler(handler)

    (reported,) = [record.getMessage() for record in caplog.records]
    assert reported == "/me.py does not return from <lambda> and blocks the event loop"


@posix
@pytest.mark.parametrize("wait", [spin, lambda: time.sleep(AGES)])
async def test_a_blocking_function_can_be_interrupted(wait: Callable[[], None]) -> None:
    before = signal.getsignal(signal.SIGURG)
    reported: list[Stalled] = []

    def end(stalled: Stalled) -> None:
        reported.append(stalled)
        stalled.end()

    extension = Extension()
    with watching(extension.owner_of, end):
        with pytest.raises(HandlerEnded, match="was interrupted with Ctrl"):
            extension.hang(wait)
        assert await asyncio.to_thread(reported[0].over.wait, AGES)

    assert [stalled.owner for stalled in reported] == [ME]
    assert signal.getsignal(signal.SIGURG) == before


@posix
async def test_a_function_that_returned_meanwhile_is_not_interrupted() -> None:
    reported: list[Stalled] = []
    hanging = threading.Event()

    def on_stall(stalled: Stalled) -> None:
        reported.append(stalled)
        hanging.set()

    extension = Extension()
    with watching(extension.owner_of, on_stall):
        extension.hang(lambda: hanging.wait(AGES))
        reported[0].end()

    assert len(reported) == 1


async def test_blocking_code_outside_of_extensions_is_not_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    called = threading.Event()

    def unnamed(module: str) -> None:
        called.set()

    with watching(unnamed):
        assert called.wait(AGES)

    assert caplog.records == []


def test_the_watch_ends_with_the_event_loop() -> None:
    stalls = Stalls(Extension().owner_of, seconds=SOON)

    async def begin() -> None:
        stalls.watch()

    asyncio.run(begin())
    stalls.close()
    Stalls(Extension().owner_of).close()
