"""Runs the program until it ends or a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from pi.base.errors import PiError
from pi.base.event_loop import run_event_loop
from pi.base.tasks import UserInterrupt
from pi.cli.worker_threads import join_threads

T = TypeVar("T")

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the program. Windows has no SIGHUP."""
SIGNAL_GRACE_SECONDS = 3.0
"""Seconds that the event loop has to handle a signal; after that, a function blocks it."""


class TerminatedBySignal(Exception):
    """A signal ended the work."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class EndedByExtension(PiError):
    """The main task was cancelled, and not by a signal."""


def run_main(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work``, the main task, and return its result.

    Raises ``TerminatedBySignal`` after a signal and ``EndedByExtension`` if code of an extension
    cancelled the main task or raised ``SystemExit`` in it.
    """
    if sys.stdin is not None:
        # ``exit()`` closes standard input before it raises: the terminal or the input of RPC.
        sys.stdin.close = lambda: None  # type: ignore[method-assign]
    try:
        return run_event_loop(until_signal(_closing_shared(work)))
    except asyncio.CancelledError:
        cause = "cancelled its main task"
    except SystemExit:
        cause = "raised SystemExit in its main task"
    raise EndedByExtension(
        f"pi was ended: code of an extension {cause}.",
        hint="Use -ne to start without extensions.",
    )


async def _closing_shared(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of ``work``, once objects that outlive sessions are closed."""
    try:
        return await work
    finally:
        await _close_shared()


async def _close_shared() -> None:
    if "pi.coding.extension_host.host" in sys.modules:  # else no extension was loaded
        from pi.coding.extension_host.host import SHARED  # lazy: see above

        await SHARED.close()


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Return the exit code of ``work``, or of the signal that ended it.

    Raises ``KeyboardInterrupt`` after Ctrl+C, once ``work`` has cleaned up.
    """
    try:
        return run_main(work)
    except TerminatedBySignal as ended:
        if ended.number == signal.SIGINT:
            raise KeyboardInterrupt from None
        return 128 + ended.number


async def until_signal(
    work: Coroutine[Any, Any, T], *, grace_seconds: float = SIGNAL_GRACE_SECONDS
) -> T:
    """Return the result of ``work``.

    Raises ``TerminatedBySignal`` after a signal, once it has cleaned up.

    A second signal terminates the process at once. If ``work`` blocks the event loop for longer
    than ``grace_seconds``, Ctrl+C raises ``KeyboardInterrupt`` there; other signals terminate the
    process.
    """
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def end(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        task.cancel()

    with _signal_handlers(end, grace_seconds):
        try:
            return await task
        except asyncio.CancelledError:
            if not received:
                raise
            raise TerminatedBySignal(received[0]) from None
        finally:
            join_threads(asyncio.get_running_loop())


@contextmanager
def _signal_handlers(end: Callable[[int], None], grace_seconds: float) -> Iterator[None]:
    """Call ``end`` for every signal that ends the program."""
    loop = asyncio.get_running_loop()
    reminders: dict[int, threading.Timer] = {}
    was_raised = False

    def deliver(number: int) -> None:
        reminders[number].cancel()
        end(number)

    # Not ``loop.add_signal_handler``: its callbacks wait for the loop, even if the loop is blocked.
    def handle_signal(number: int, frame: FrameType | None) -> None:
        nonlocal was_raised
        if number in reminders and number == signal.SIGINT and not was_raised:
            was_raised = True
            raise UserInterrupt  # in the code that blocks the loop
        if number in reminders:
            _die(number)
        reminders[number] = _remind(number, grace_seconds)
        loop.call_soon_threadsafe(deliver, number)

    numbers = [int(getattr(signal, name)) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.signal(number, handle_signal) for number in numbers}
    try:
        yield
    finally:
        for reminder in reminders.values():
            reminder.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _remind(number: int, seconds: float) -> threading.Timer:
    """Send the signal again after some time."""
    main = threading.main_thread().ident

    def again() -> None:
        if main is not None and hasattr(signal, "pthread_kill"):  # not on Windows
            signal.pthread_kill(main, number)

    reminder = threading.Timer(seconds, again)
    reminder.daemon = True
    reminder.start()
    return reminder


def _die(number: int) -> None:
    """Terminate with the default action of the signal."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
