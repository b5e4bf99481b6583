from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from pi.base.event_loop import run_event_loop
from pi.base.signals import wake_on_signals

SECONDS = 5.0
BLOCKED_SECONDS = 0.1
"""Long enough for the loop to begin to wait."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of threads are POSIX")


def signal_in_another_thread() -> threading.Timer:
    """A signal that does not interrupt the main thread, while its loop waits."""

    def send() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    timer = threading.Timer(BLOCKED_SECONDS, send)
    timer.start()
    return timer


async def wait_for_signal() -> bool:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()
    previous = signal.signal(signal.SIGUSR1, lambda *_: loop.call_soon_threadsafe(arrived.set))
    timer = signal_in_another_thread()
    # The timeout must not be what wakes the loop.
    watchdog = threading.Timer(SECONDS, lambda: os.write(writer, b"x"))
    reader, writer = os.pipe()
    late = asyncio.Event()
    loop.add_reader(reader, late.set)
    watchdog.start()
    try:
        waits = [asyncio.ensure_future(event.wait()) for event in (arrived, late)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return not late.is_set()
    finally:
        watchdog.cancel()
        timer.join()
        loop.remove_reader(reader)
        os.close(reader)
        os.close(writer)
        signal.signal(signal.SIGUSR1, previous)


def test_a_signal_in_another_thread_wakes_the_loop_of_the_program() -> None:
    assert run_event_loop(wait_for_signal())


def test_a_signal_wakes_a_loop_that_asks_for_it() -> None:
    async def run() -> bool:
        remove = wake_on_signals(asyncio.get_running_loop())
        try:
            return await wait_for_signal()
        finally:
            remove()

    assert asyncio.run(run())


async def test_the_first_of_nested_requests_stays() -> None:
    loop = asyncio.get_running_loop()
    remove_outer = wake_on_signals(loop)
    wake_on_signals(loop)()

    outer = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(outer)
    remove_outer()

    assert outer != -1
    assert signal.set_wakeup_fd(-1) == -1
