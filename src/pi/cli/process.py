"""Ending on a signal: what is under way is cancelled, and so saves and closes what it has."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from pi.base.json_lines import encode_line
from pi.base.terminal_text import SanitisedStream, escape_controls, sanitise

if TYPE_CHECKING:
    from typing import TextIO


# Ending although a thread hangs, as one does that reads from a disk that has gone.


THREAD_GRACE_SECONDS = 2.0
"""Seconds that threads have at the end of the program."""
_NAME = "asyncio_"
"""How the names of the threads begin that an event loop starts."""


def join_threads(
    loop: asyncio.AbstractEventLoop, *, patience: float = THREAD_GRACE_SECONDS
) -> None:
    """Have the threads of ``loop`` end, and wait for them, but not for ever as ``asyncio`` does."""
    threads = getattr(loop, "_default_executor", None)
    if threads is None:
        return
    from concurrent.futures import ThreadPoolExecutor  # loaded already: this is what it is

    loop.set_default_executor(ThreadPoolExecutor())  # which has nothing to do, and is waited for
    threads.shutdown(wait=False)
    end = time.monotonic() + patience
    for thread in running_threads():
        thread.join(max(end - time.monotonic(), 0))


def running_threads() -> list[threading.Thread]:
    """The threads of event loops."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(_NAME)]


T = TypeVar("T")

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those that there are on this system."""
SIGNAL_GRACE_SECONDS = 3.0
"""Seconds in which the event loop has to take a signal; a function that never returns holds it."""


class TerminatedBySignal(Exception):
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
    except TerminatedBySignal as ended:
        if ended.number == signal.SIGINT:
            raise KeyboardInterrupt from None
        return 128 + ended.number


async def until_signal(
    work: Coroutine[Any, Any, T], *, patience: float = SIGNAL_GRACE_SECONDS
) -> T:
    """What ``work`` gives; ``TerminatedBySignal`` once a signal has ended it and it has cleaned up.

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
            raise TerminatedBySignal(received[0]) from None
        finally:
            join_threads(asyncio.get_running_loop())


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


# The three streams of the process, as modes without a screen use them.


def print_error(text: str) -> None:
    """Say something to the person, beside the output; nothing in it can command a terminal."""
    sys.stderr.write(f"{sanitise(text)}\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """Print a line of JSON for programs; a terminal that shows it obeys nothing in it."""
    sys.stdout.write(escape_controls(encode_line(value).decode()))


def rewrite_line(text: str) -> None:
    """Show a text in place of the current line of standard error, which is a terminal."""
    stream: TextIO = sys.stderr
    if isinstance(stream, SanitisedStream):
        stream = stream.unsanitised  # the return is ours
    stream.write(f"\r{sanitise(text)}")
    stream.flush()


@contextmanager
def protocol_output() -> Iterator[int]:
    """Standard output for us alone: meanwhile, what anybody else prints goes to standard error."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        yield ours
    finally:
        sys.stdout.flush()
        sys.stdout = printed
        os.dup2(ours, 1)
        os.close(ours)


async def piped_input() -> str:
    """What is piped into the program; nothing, if a person sits at the other end."""
    if sys.stdin.isatty():
        return ""
    from pi.modes.stdio import read_chunks

    return b"".join([chunk async for chunk in read_chunks(0)]).decode("utf-8", "replace")


def confirm(question: str) -> bool:
    """Ask a person; nobody there means no."""
    sys.stderr.write(sanitise(question))
    sys.stderr.flush()
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
        return False
    return sys.stdin.readline().strip().lower() in ("y", "yes")
