"""Structured concurrency: every task belongs to a scope and ends with it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable, iscoroutine
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
        task = asyncio.get_running_loop().create_task(_without_exit(work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        # Cancelled before its first step, the wrapper never awaits the work.
        task.add_done_callback(lambda _: work.close())
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


async def _without_exit(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work``; ``SystemExit`` becomes a failure of the task, asyncio would end the loop."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, passed_on()):
            raise
        raise TaskEscaped(error) from error


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

    def _visible(self, coroutine: Any, frame: FrameType) -> Any:
        return _CoroutineView(coroutine) if self._is_own and _foreign_caller(frame) else coroutine


class _CoroutineView:
    """A coroutine of pi as code of extensions sees it: to inspect, not to run or to end.

    A task whose coroutine was closed never ends: what it waited for does not wake it any more.
    """

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._coroutine, name)
        return _CoroutineView(value) if iscoroutine(value) else value

    def _refuse(self, *arguments: Any) -> None:
        _report_once("Code of an extension tried to run or close a coroutine of pi; pi goes on.")

    close = send = throw = _refuse


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


class UserInterrupt(KeyboardInterrupt):
    """Ctrl+C of the user, raised by the signal handler of the ``pi`` command."""


class MainTaskClosed(Exception):
    """The coroutine of the main task was closed by force; its work cannot go on."""


class TaskEscaped(Exception):
    """Code raised an exception that is not an ``Exception``, e.g. ``SystemExit``."""

    def __init__(self, error: BaseException) -> None:
        try:
            text = str(error)
        except Exception:  # __str__ may be code of the extension
            text = ""
        super().__init__(f"It raised {type(error).__name__}{text and f': {text}'}.")


_guarded_loops = 0
_reported: set[str] = set()
"""Lines that were reported: rude code often repeats itself."""


def passed_on() -> tuple[type[BaseException], ...]:
    """Exceptions that are not failures of the extension code during which they occur.

    In the ``pi`` command Ctrl+C is a ``UserInterrupt``: any other ``KeyboardInterrupt`` was raised
    by the extension itself. In a program that embeds pi, Ctrl+C is a plain ``KeyboardInterrupt``.
    """
    interrupt = UserInterrupt if _guarded_loops else KeyboardInterrupt
    return (interrupt, asyncio.CancelledError)


def run_guarded(work: Coroutine[Any, Any, T], *, grace: float = 5.0) -> T:
    """Run ``work`` like ``asyncio.run``, in a loop that code of extensions cannot end.

    It can neither stop the loop nor cancel or close pi's tasks, and ``SystemExit`` or
    ``KeyboardInterrupt`` in its tasks and callbacks is reported in one line; the loop goes on.
    Tasks that are left at the end have ``grace`` seconds to stop, then they are abandoned.
    Raises ``MainTaskClosed`` if the coroutine of ``work`` was closed by force.
    """

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> GuardedTask:
        return GuardedTask(coroutine, loop=loop, **options)

    global _guarded_loops
    _guarded_loops += 1
    loop = asyncio.new_event_loop()
    stop, closed = loop.stop, list[bool]()

    def stop_for_pi() -> None:
        if caller := _foreign_caller(sys._getframe(1)):
            _report_once(f"{caller} tried to stop the event loop of pi; pi goes on.")
        else:
            stop()

    async def main() -> T:
        try:
            return await work
        except GeneratorExit:
            closed.append(True)
            stop()
            raise

    try:
        asyncio.set_event_loop(loop)
        loop.stop = stop_for_pi  # type: ignore[method-assign]
        loop.set_task_factory(make)
        loop.set_exception_handler(_report_callback)
        try:
            return _run_on(loop, loop.create_task(main()))
        except RuntimeError:
            if not closed:
                raise
            # More is broken now, and what is said about it explains nothing.
            loop.set_exception_handler(lambda loop, context: None)
            warnings.simplefilter("ignore")
            raise MainTaskClosed from None
        finally:
            _run_on(loop, loop.create_task(_stop_all(grace)))
            _run_on(loop, loop.create_task(loop.shutdown_asyncgens()))
            _run_on(loop, loop.create_task(loop.shutdown_default_executor()))
            loop.set_exception_handler(lambda loop, context: None)  # about abandoned tasks
    finally:
        _guarded_loops -= 1
        _reported.clear()
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
            error.is_reported = True  # type: ignore[union-attr] # for _report_callback
            what = f"raised {type(error).__name__} in a task or callback{_where(error)}"
            _report_once(f"Code of an extension {what}; pi goes on.", error)
    return task.result()


def _is_of_user(error: BaseException) -> bool:
    """Whether Ctrl+C raised the exception."""
    if isinstance(error, UserInterrupt) or not isinstance(error, KeyboardInterrupt):
        return isinstance(error, UserInterrupt)
    import signal  # deferred: rarely needed

    # Before and after the work, the handler of Python is the one that is installed.
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _where(error: BaseException) -> str:
    """The place in code outside of pi and asyncio that raised ``error``, if it is known."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_ASYNCIO, _OWN)):
            found = f" ({file}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


async def _stop_all(grace: float) -> None:
    """Cancel all other tasks; those that do not stop are reported and abandoned."""
    stubborn = await stop_tasks(asyncio.all_tasks() - {asyncio.current_task()}, grace=grace)
    if stubborn:
        names = ", ".join(sorted(task.get_name() for task in stubborn))
        _report_once(f"Tasks did not stop within {grace:g} seconds and were abandoned: {names}.")


def _report_callback(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an exception that is left to the event loop, as callbacks of extensions raise it."""
    error = context.get("exception")
    if not hasattr(error, "is_reported"):
        _report_once(f"{context['message']}: {error!r}", error)


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
