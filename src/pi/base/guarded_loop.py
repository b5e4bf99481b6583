"""The event loop of the ``pi`` command: code of extensions cannot end it or hang it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import warnings
from collections.abc import Coroutine, Iterator
from inspect import isasyncgen, iscoroutine, isgenerator
from types import FrameType
from typing import Any, TypeVar

from pi.base import tasks
from pi.base.tasks import EXTENSION_CODE, UserInterrupt, code_of, guarded_loops, stop_tasks

T = TypeVar("T")

log = logging.getLogger(__name__)

_ASYNCIO = f"{os.path.dirname(asyncio.__file__)}{os.sep}"  # noqa: PTH120 - imported at every start
_RUN_CALLBACK = asyncio.Handle._run.__code__
_CANCEL_GATHERED = asyncio.tasks._GatheringFuture.cancel.__code__  # type: ignore[attr-defined]
_FROM_A_THREAD = "run_coroutine_threadsafe.<locals>.callback"
_STARTERS = (_ASYNCIO, __file__, tasks.__file__)
"""Code that starts tasks for other code."""
_OWN = f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}"  # noqa: PTH120


class GuardedTask(asyncio.Task[Any]):
    """A task that only its owner can cancel: code of extensions cannot cancel pi's own tasks.

    All tasks of the ``pi`` command are of this class. A handler that cancels
    ``asyncio.all_tasks()`` would otherwise end the program. The owner of a task is the code that
    created it. A task may also cancel itself.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith(_STARTERS):
            if frame.f_code.co_qualname == _FROM_A_THREAD:
                break
            frame = frame.f_back
        # Work of another thread is not pi's, and its future cancels it by a bare callback.
        is_from_a_thread = frame.f_code.co_qualname == _FROM_A_THREAD
        file = frame.f_code.co_filename
        self._is_own = not is_from_a_thread and file.startswith((_ASYNCIO, _OWN))

    def cancel(self, msg: Any | None = None) -> bool:
        """Request the cancellation; False if the caller may not, or the task has ended."""
        is_itself = asyncio.current_task(self.get_loop()) is self
        if self._is_own and not is_itself and (caller := _foreign_caller(sys._getframe(1))):
            _report_once(f"{caller} tried to cancel a task of pi; pi goes on.")
            return False
        return super().cancel(msg)

    def get_coro(self) -> Any:
        """Return the coroutine; extensions get a view of pi's, which they cannot close."""
        return self._visible(super().get_coro(), sys._getframe(1))

    @property
    def _coro(self) -> Any:
        """Like ``get_coro``, for code that uses the private name; asyncio itself does."""
        return self._visible(super().get_coro(), sys._getframe(1))

    def is_broken(self) -> bool:
        """Whether it is a task of pi that never wakes up, because its coroutines were closed.

        A suspended task has no closed coroutine, and it waits for the future on which the
        innermost coroutine is suspended. A closed coroutine that has awaited something in a
        ``finally`` clause is suspended on another one, which does not wake the task.
        """
        if not self._is_own or self.done() or asyncio.current_task(self.get_loop()) is self:
            return False
        innermost = None
        for innermost in _awaited(super().get_coro()):
            if _is_closed(innermost):
                return True
        waiter = self._fut_waiter  # type: ignore[attr-defined]
        if waiter is None or type(innermost).__name__ != "FutureIter":
            return False
        return not any(each is waiter for each in gc.get_referents(innermost))

    def _visible(self, coroutine: Any, frame: FrameType) -> Any:
        return _CoroutineView(coroutine) if self._is_own and _foreign_caller(frame) else coroutine


class _CoroutineView:
    """A view of a coroutine of pi for code of extensions, which can inspect it, not run or end it.

    A task whose coroutine was closed never ends: what it waited for does not wake it any more.
    """

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._coroutine, name)
        # Also for a step of an asynchronous generator: it is no coroutine, but can be closed.
        return _CoroutineView(value) if hasattr(value, "throw") else value

    def _refuse(self, *arguments: Any) -> None:
        _report_once("Code of an extension tried to run or close a coroutine of pi; pi goes on.")

    close = send = throw = _refuse


def _awaited(coroutine: Any) -> Iterator[Any]:
    """Yield the coroutine and what it awaits, to the innermost awaitable."""
    at = coroutine
    while at is not None:
        yield at
        if iscoroutine(at):
            at = at.cr_await
        elif isgenerator(at):
            at = at.gi_yieldfrom
        elif isasyncgen(at):
            at = at.ag_await
        else:  # a step of an asynchronous generator, or a wrapper: Python has no attribute for it
            inner = (each for each in gc.get_referents(at) if _has_frame(each))
            at = next(inner, None)


def _has_frame(value: Any) -> bool:
    return iscoroutine(value) or isgenerator(value) or isasyncgen(value)


def _is_closed(awaited: Any) -> bool:
    return (
        (iscoroutine(awaited) and awaited.cr_frame is None)
        or (isgenerator(awaited) and awaited.gi_frame is None)
        or (isasyncgen(awaited) and awaited.ag_frame is None)
    )


def _foreign_caller(frame: FrameType) -> str:
    """Return the file of the calling code if it is neither pi's nor asyncio's; otherwise empty.

    ``loop.call_soon(task.cancel)`` leaves no frame of the code that scheduled it: the event loop
    itself calls ``cancel``. pi never does that.
    """
    at: FrameType | None = frame
    while at is not None and at.f_code is _CANCEL_GATHERED:
        at = at.f_back  # the code that cancels the gathered tasks decides
    if at is None or at.f_code is _RUN_CALLBACK:
        return "A callback of the event loop"
    file = at.f_code.co_filename
    return "" if file.startswith((_ASYNCIO, _OWN)) else file


class TasksClosed(Exception):
    """Coroutines of pi's tasks were closed by force; the work cannot go on."""


_reported: set[str] = set()
"""Lines that were already reported: the same code often causes the same problem again."""


def run_guarded(work: Coroutine[Any, Any, T], *, grace: float = 5.0) -> T:
    """Run ``work`` like ``asyncio.run``, in a loop that code of extensions cannot end.

    It can neither stop the loop nor cancel pi's tasks, and ``SystemExit`` or
    ``KeyboardInterrupt`` in its tasks and callbacks is reported in one line; the loop goes on.
    Tasks that are left at the end have ``grace`` seconds to stop, then they are abandoned.
    Raises ``TasksClosed`` if coroutines of pi were closed by force.
    """

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> GuardedTask:
        return GuardedTask(coroutine, loop=loop, **options)

    loop = asyncio.new_event_loop()
    guard = _Guard(loop)
    guarded_loops.append(loop)
    try:
        asyncio.set_event_loop(loop)
        loop.stop = guard.stop  # type: ignore[method-assign]
        loop.set_task_factory(make)
        loop.set_exception_handler(guard.report)
        try:
            return _run_on(loop, loop.create_task(guard.run(work)))
        except RuntimeError as error:
            if not guard.is_broken and not _is_of_closed(error):
                raise
            guard.silence()
            raise TasksClosed from None
        finally:
            seconds = min(grace, CHECK_SECONDS) if guard.is_broken else grace
            _run_on(loop, loop.create_task(_stop_all(seconds, report=not guard.is_broken)))
            _run_on(loop, loop.create_task(loop.shutdown_asyncgens()))
            _run_on(loop, loop.create_task(loop.shutdown_default_executor()))
            loop.set_exception_handler(lambda loop, context: None)  # about abandoned tasks
    finally:
        guarded_loops.remove(loop)
        _reported.clear()
        asyncio.set_event_loop(None)
        loop.close()


CHECK_SECONDS = 1.0
"""Seconds between two checks of pi's tasks."""


class _Guard:
    """Keeps the loop from being stopped, and ends it if tasks of pi cannot go on.

    The garbage collector lists every coroutine of the process, also those of pi, and code of an
    extension that closes one leaves a task that never wakes up: pi would hang.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stop = loop.stop
        self._next = loop.call_later(CHECK_SECONDS, self._check)
        self.is_broken = False

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``work``."""
        try:
            return await work
        except GeneratorExit:
            self.end()
            raise

    def stop(self) -> None:
        """Stop the loop, unless code of an extension calls this."""
        if caller := _foreign_caller(sys._getframe(1)):
            _report_once(f"{caller} tried to stop the event loop of pi; pi goes on.")
        else:
            self._stop()

    def report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Report an exception that no code has handled, such as one of an extension's callback."""
        error = context.get("exception")
        if _is_of_closed(error):
            self._check()
        if not self.is_broken and not hasattr(error, "is_reported"):
            _report_once(f"{context['message']}: {error!r}", error)

    def end(self) -> None:
        """Leave the loop."""
        if not self.is_broken:
            self.silence()
            self._stop()

    def silence(self) -> None:
        """Stop checking and reporting: later errors are only consequences."""
        self.is_broken = True
        self._next.cancel()
        self._loop.set_exception_handler(lambda loop, context: None)
        warnings.simplefilter("ignore")

    def _check(self) -> None:
        if any(
            isinstance(task, GuardedTask) and task.is_broken()
            for task in asyncio.all_tasks(self._loop)
        ):
            self.end()
        else:
            self._next.cancel()
            self._next = self._loop.call_later(CHECK_SECONDS, self._check)


def _is_of_closed(error: BaseException | None) -> bool:
    """Whether a task failed because its coroutine had been closed."""
    return isinstance(error, RuntimeError) and "already awaited coroutine" in str(error)


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
            error.is_reported = True  # type: ignore[union-attr] # for _Guard.report
            problem = f"raised {type(error).__name__} in a task or callback{_where(error)}"
            _report_once(f"Code of an extension {problem}; pi goes on.", error)
    return task.result()


def _is_of_user(error: BaseException) -> bool:
    """Whether Ctrl+C raised the exception."""
    if isinstance(error, UserInterrupt) or not isinstance(error, KeyboardInterrupt):
        return isinstance(error, UserInterrupt)
    import signal  # deferred: rarely needed

    # Before and after the work, the handler of Python is the one that is installed.
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _where(error: BaseException) -> str:
    """The place in code of an extension that raised ``error``, if it is known.

    ``loop.call_soon(sys.exit)`` leaves no frame of the code that scheduled it, but the callback
    runs in the context of that code.
    """
    trace, found = error.__traceback__, ""
    while trace is not None:
        frame = trace.tb_frame
        file = frame.f_code.co_filename
        if frame.f_code is _RUN_CALLBACK:
            context = getattr(frame.f_locals.get("self"), "_context", None)
            caller = context.get(EXTENSION_CODE) if context is not None else None
            found = f" ({code.co_filename})" if (code := code_of(caller)) else ""
        elif not file.startswith((_ASYNCIO, _OWN, "<frozen ")):
            found = f" ({file}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


async def _stop_all(grace: float, *, report: bool) -> None:
    """Cancel all other tasks; those that do not stop are reported and abandoned."""
    stubborn = await stop_tasks(asyncio.all_tasks() - {asyncio.current_task()}, grace=grace)
    if stubborn and report:
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
