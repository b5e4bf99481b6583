"""Process-wide behaviour: exit on signals, blocked threads, standard streams, crashes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from pi.base.errors import PiError
from pi.base.event_loop import run_event_loop
from pi.base.files import agent_directory, open_private
from pi.base.tasks import UserInterrupt
from pi.base.terminal_text import SanitisedStream, escape_controls, sanitise

if TYPE_CHECKING:
    from typing import TextIO

log = logging.getLogger(__name__)


# Worker threads -----------------------------------------------------------------------------------


THREAD_GRACE_SECONDS = 2.0
"""Seconds that threads have to finish at exit: one can be blocked, e.g. by a dead network drive."""
_NAME = "asyncio_"
"""Name prefix of the threads of an event loop."""


def join_threads(
    loop: asyncio.AbstractEventLoop, *, grace_seconds: float = THREAD_GRACE_SECONDS
) -> None:
    """End the threads of ``loop`` and wait for them, unlike ``asyncio`` with a time limit."""
    threads = getattr(loop, "_default_executor", None)
    if threads is None:
        return
    from concurrent.futures import ThreadPoolExecutor  # already imported: asyncio uses it

    loop.set_default_executor(ThreadPoolExecutor())  # idle threads end at once and are joined
    threads.shutdown(wait=False)
    end = time.monotonic() + grace_seconds
    for thread in running_threads():
        thread.join(max(end - time.monotonic(), 0))


def running_threads() -> list[threading.Thread]:
    """Return the threads of event loops."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(_NAME)]


# Signals ------------------------------------------------------------------------------------------

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


# Standard streams ---------------------------------------------------------------------------------


def print_error(text: str) -> None:
    """Print a message to standard error, without terminal control sequences."""
    sys.stderr.write(f"{sanitise(text)}\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """Print a line of JSON, without terminal control sequences."""
    from pi.base.json_lines import encode_line  # lazy: not before the first frame

    sys.stdout.write(escape_controls(encode_line(value).decode()))


def rewrite_line(text: str) -> None:
    """Replace the current line of standard error, which is a terminal."""
    stream: TextIO = sys.stderr
    if isinstance(stream, SanitisedStream):
        stream = stream.unsanitised  # it would remove the carriage return
    stream.write(f"\r{sanitise(text)}")
    stream.flush()


@contextmanager
def protocol_output() -> Iterator[int]:
    """Yield a descriptor of standard output; meanwhile all prints go to standard error."""
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


LARGEST_INPUT = 64 * 1024 * 1024
"""Maximum size of piped input in bytes."""


class InputTooLarge(PiError):
    """Piped input is larger than ``LARGEST_INPUT``."""


async def piped_input() -> str:
    """Return piped input; empty if standard input is a terminal.

    Raises ``InputTooLarge`` above ``LARGEST_INPUT``: `yes | pi -p` would fill the memory.
    """
    if sys.stdin.isatty():
        return ""
    from pi.modes.stdio import read_chunks  # lazy: the screen needs none

    data = bytearray()
    async for chunk in read_chunks(0):
        data += chunk
        if len(data) > LARGEST_INPUT:
            limit = f"{LARGEST_INPUT >> 20} MiB"
            raise InputTooLarge(f"Cannot read standard input: larger than {limit}.")
    return data.decode("utf-8", "replace")


def confirm(question: str) -> bool:
    """Ask the user; returns False without a terminal."""
    sys.stderr.write(sanitise(question))
    sys.stderr.flush()
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
        return False
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# Crashes ------------------------------------------------------------------------------------------

_redact_crash: list[Callable[[str], str]] = []


def redact_crash(redact: Callable[[str], str]) -> None:
    """Set the function that redacts the log of a crash; the last session wins.

    It is global because a crash is logged after the session is gone.
    """
    _redact_crash[:] = [redact]


def log_crash(error: Exception, environ: Mapping[str, str]) -> Path:
    """Log the traceback of ``error``, redacted, and return the path of the log.

    Raises ``OSError`` or ``PiError`` if the log cannot be written.
    """
    from pi.modes.log_file import NAME, start_log  # deferred: only a crash needs it

    folder = agent_directory(environ)
    end = start_log(folder, environ, redact=next(iter(_redact_crash), None))
    try:
        with open(folder / NAME, "a", opener=open_private):
            pass  # the log handler does not report that it cannot write
        log.error("The program ended unexpectedly.", exc_info=error)
    finally:
        end()
    return folder / NAME
