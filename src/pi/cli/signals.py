"""Ending on a signal: what is under way is cancelled, and so saves and closes what it has."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from pi.cli.hanging import let_threads_go

T = TypeVar("T")

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those that there are on this system."""
PATIENCE = 3.0
"""Seconds in which the event loop has to take a signal; a function that never returns holds it."""


class Signalled(Exception):
    """A signal ended the work."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """The exit code that ``work`` gives, or that of the signal that ended it.

    ``KeyboardInterrupt`` after Ctrl+C, once it has cleaned up.
    """
    try:
        return asyncio.run(until_signal(work))
    except Signalled as ended:
        if ended.number == signal.SIGINT:
            raise KeyboardInterrupt from None
        return 128 + ended.number


async def until_signal(work: Coroutine[Any, Any, T], *, patience: float = PATIENCE) -> T:
    """What ``work`` gives; ``Signalled`` once a signal has ended it and it has cleaned up.

    A second signal ends the program at once. If ``work`` holds up the event loop for longer than
    ``patience``, Ctrl+C is raised there as ``KeyboardInterrupt``, and other signals end it too.
    """
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def end(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        task.cancel()

    with _told(end, patience):
        try:
            return await task
        except asyncio.CancelledError:
            if not received:
                raise
            raise Signalled(received[0]) from None
        finally:
            let_threads_go(asyncio.get_running_loop())


@contextmanager
def _told(end: Callable[[int], None], patience: float) -> Iterator[None]:
    """Have ``end`` called for every signal that ends the program."""
    loop = asyncio.get_running_loop()
    reminders: dict[int, threading.Timer] = {}
    was_raised = False

    def take(number: int) -> None:
        reminders[number].cancel()
        end(number)

    # Not ``loop.add_signal_handler``: what that is given waits for the loop, however long it hangs.
    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal was_raised
        if number in reminders and number == signal.SIGINT and not was_raised:
            was_raised = True
            raise KeyboardInterrupt  # in whatever holds the loop up; then everything is closed
        if number in reminders:
            _die(number)
        reminders[number] = _remind(number, patience)
        loop.call_soon_threadsafe(take, number)

    numbers = [int(getattr(signal, name)) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.signal(number, heard) for number in numbers}
    try:
        yield
    finally:
        for reminder in reminders.values():
            reminder.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _remind(number: int, seconds: float) -> threading.Timer:
    """Have the signal again after some time."""
    main = threading.main_thread().ident

    def again() -> None:
        if main is not None and hasattr(signal, "pthread_kill"):  # not on Windows
            signal.pthread_kill(main, number)

    reminder = threading.Timer(seconds, again)
    reminder.daemon = True
    reminder.start()
    return reminder


def _die(number: int) -> None:
    """End as the signal does by itself."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
