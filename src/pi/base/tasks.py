"""Structured concurrency: every task belongs to a scope and ends with it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from types import FrameType, TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

ReportFailure = Callable[[str, BaseException], None]
"""Called with the name of a background task that failed, and the exception."""


class TaskScope:
    """Background tasks that end with their owner.

    Tasks may start and end while the scope is open. A task that fails is reported and does not
    affect the others. Leaving the scope cancels the running tasks and waits until they have
    stopped, at most ``grace`` seconds: a task that does not stop is reported and abandoned.
    """

    def __init__(self, *, report: ReportFailure | None = None, grace: float = 5.0) -> None:
        self._report = _log_failure if report is None else report
        self._grace = grace
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run ``work`` in the background until it ends or the scope is closed."""
        if self._closed:
            work.close()
            raise RuntimeError(f"the scope is closed, {name!r} cannot start")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def __len__(self) -> int:
        return len(self._tasks)

    async def settle(self, seconds: float) -> None:
        """Wait until all tasks have ended by themselves, for at most ``seconds``."""
        others = {task for task in self._tasks if task is not asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=seconds)

    async def close(self) -> None:
        """Cancel the running tasks and wait for them; afterwards nothing can be started."""
        self._closed = True
        caller = asyncio.current_task()
        others = {task for task in self._tasks if task is not caller}
        stubborn = await stop_tasks(others, grace=self._grace)
        for task in stubborn:
            self._report(
                task.get_name(), TimeoutError(f"did not stop within {self._grace:g} seconds")
            )

    async def __aenter__(self) -> TaskScope:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(task.get_name(), error)


_ASYNCIO = f"{os.path.dirname(asyncio.__file__)}{os.sep}"  # noqa: PTH120 - imported at every start
_RUN_CALLBACK = asyncio.Handle._run.__code__
_CANCEL_GATHERED = asyncio.tasks._GatheringFuture.cancel.__code__  # type: ignore[attr-defined]
_FROM_A_THREAD = "run_coroutine_threadsafe.<locals>.callback"
_OWN = f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}"  # noqa: PTH120


class GuardedTask(asyncio.Task[Any]):
    """A task that only its owner can cancel: pi's own tasks do not obey code of extensions.

    The task factory of the ``pi`` command. A handler that cancels ``asyncio.all_tasks()`` would
    otherwise end the program. The owner of a task is the code that created it. A task that cancels
    itself may do so.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith((_ASYNCIO, __file__)):
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
            log.warning("%s tried to cancel %r, a task of pi; ignored", caller, self.get_name())
            return False
        return super().cancel(msg)


def _foreign_caller(frame: FrameType) -> str:
    """Return what calls from ``frame`` if that is neither pi nor asyncio; else nothing.

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


def run_guarded(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` like ``asyncio.run``, with tasks that code of extensions cannot cancel, in a
    loop that it cannot stop."""

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> GuardedTask:
        return GuardedTask(coroutine, loop=loop, **options)

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        stop = loop.stop

        def stop_for_pi() -> None:
            if caller := _foreign_caller(sys._getframe(1)):
                log.warning("%s tried to stop the event loop of pi; ignored", caller)
            else:
                stop()

        loop.stop = stop_for_pi  # type: ignore[method-assign]
        loop.set_task_factory(make)
        loop.set_exception_handler(_report_callback)
        return runner.run(work)


def _report_callback(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an exception that is left to the event loop, as callbacks of extensions raise it.

    The traceback goes to a log only. Without one, the message is a line on standard error.
    """
    error = context.get("exception")
    to_a_log = bool(logging.getLogger().handlers)
    log.error("%s: %r", context["message"], error, exc_info=error if to_a_log else None)


class Notifier:
    """Wakes all current waiters; reusable."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Wake all current waiters; later ones wait for the next call."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the next ``notify``."""
        await self._next.wait()


async def stop_tasks(
    tasks: set[asyncio.Task[Any]], *, grace: float
) -> frozenset[asyncio.Task[Any]]:
    """Cancel ``tasks`` and wait for them; returns those that still ran after ``grace`` seconds."""
    for task in tasks:
        task.cancel()
    if not tasks:
        return frozenset()
    _, stubborn = await asyncio.wait(tasks, timeout=grace)
    return frozenset(stubborn)


async def finish_despite_cancel(work: Awaitable[T]) -> T:
    """Wait for ``work`` to its end even if the caller is cancelled meanwhile.

    The cancellation is raised afterwards: a half-done save is worse than a late Escape.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as request:
            if task.cancelled():
                raise
            cancelled = request
        except Exception:
            break  # raised again by result(), with its own traceback
    if cancelled is not None:
        # Retrieve a failure of the work, so that asyncio does not warn; the cancellation is raised.
        if not task.cancelled() and (error := task.exception()):
            log.warning("failed while being cancelled: %r", error)
        raise cancelled
    return task.result()


LARGE = 5_000
"""Items from which pure work over them is done in a thread: about 20 ms of work for most."""


async def off_loop(work: Callable[[], T], items: int) -> T:
    """Return the result of ``work``, in a thread if it is done for many items.

    ``work`` only reads what other code may change meanwhile, and changes nothing itself.
    """
    return await asyncio.to_thread(work) if items > LARGE else work()


async def maybe_await(given: Awaitable[T] | T) -> T:
    """Returns the result of a function that may be sync or async."""
    return await given if isawaitable(given) else given


def _log_failure(name: str, error: BaseException) -> None:
    log.error("background task %r failed", name, exc_info=error)
