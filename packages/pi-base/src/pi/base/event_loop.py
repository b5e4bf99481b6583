"""The event loop of the ``pi`` command: ``SystemExit`` of a task or callback does not end it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pi
from pi.base.signals import wake_on_signals
from pi.base.tasks import UserInterrupt, program_loops, stop_tasks

T = TypeVar("T")

log = logging.getLogger(__name__)

_NOT_EXTENSIONS = (
    f"{Path(asyncio.__file__).parent}{os.sep}",
    *(f"{folder}{os.sep}" for folder in pi.__path__),
    "<frozen ",
)
"""How the names of files begin whose code is pi's or Python's."""

_reported: set[str] = set()
"""Lines that were already reported: the same code often causes the same problem again."""


def run_event_loop(work: Coroutine[Any, Any, T], *, grace: float = 5.0) -> T:
    """Run ``work`` like ``asyncio.run``, but report what asyncio would end the program for.

    ``SystemExit`` or ``KeyboardInterrupt`` in another task or a callback is reported in one line,
    and the loop goes on. Tasks that are left at the end have ``grace`` seconds to stop, then they
    are abandoned. Code of an extension can still stop the loop or cancel tasks of pi: it runs in
    the same process and is trusted with it.
    """
    loop = asyncio.new_event_loop()
    program_loops.append(loop)
    stop_waking = wake_on_signals(loop)
    try:
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(_report_unhandled)
        try:
            return _run_on(loop, loop.create_task(work))
        finally:
            _run_on(loop, loop.create_task(_stop_all(grace)))
            _run_on(loop, loop.create_task(loop.shutdown_asyncgens()))
            _run_on(loop, loop.create_task(loop.shutdown_default_executor()))
            loop.set_exception_handler(lambda loop, context: None)  # about abandoned tasks
    finally:
        program_loops.remove(loop)
        _reported.clear()
        stop_waking()
        asyncio.set_event_loop(None)
        loop.close()


def _run_on(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> T:
    """Run ``task`` to its end, however often other tasks and callbacks raise ``SystemExit``.

    asyncio leaves the loop when one of them does; what was ready to run then is still queued.
    """
    while not task.done():
        try:
            return loop.run_until_complete(task)
        except (SystemExit, KeyboardInterrupt) as error:
            if _is_of_user(error):
                raise
            if task.done():
                break
            error.is_reported = True  # type: ignore[union-attr] # for _report_unhandled
            description = f"raised {type(error).__name__} in a task or callback{_origin(error)}"
            _report_once(f"Code of an extension {description}; pi goes on.", error)
    return task.result()


def _is_of_user(error: BaseException) -> bool:
    """Whether Ctrl+C raised the exception."""
    if isinstance(error, UserInterrupt) or not isinstance(error, KeyboardInterrupt):
        return isinstance(error, UserInterrupt)
    import signal  # deferred: rarely needed

    # Before and after the work, the handler of Python is the one that is installed.
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _origin(error: BaseException) -> str:
    """Return the line of an extension that raised ``error`` in parentheses, if it is known.

    ``loop.call_soon(sys.exit)`` leaves no frame of the code that scheduled it.
    """
    trace, origin = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_NOT_EXTENSIONS):
            origin = f" ({file}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return origin


def _report_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an exception that no code has handled, such as one of an extension's callback."""
    error = context.get("exception")
    if not hasattr(error, "is_reported"):
        _report_once(f"{context['message']}: {error!r}", error)


async def _stop_all(grace: float) -> None:
    """Cancel all other tasks; those that do not stop are reported and abandoned."""
    stubborn = await stop_tasks(asyncio.all_tasks() - {asyncio.current_task()}, grace=grace)
    if stubborn:
        names = ", ".join(sorted(task.get_name() for task in stubborn))
        _report_once(f"Tasks did not stop within {grace:g} seconds and were abandoned: {names}.")


def _report_once(line: str, error: BaseException | None = None) -> None:
    """Report a problem of extension code: to the log, whose errors the screen shows, or to stderr.

    The traceback goes to a log only.
    """
    if line in _reported:
        return
    _reported.add(line)
    if logging.getLogger().handlers:
        log.error("%s", line, exc_info=error)
    else:
        sys.stderr.write(f"Error: {line}\n")
