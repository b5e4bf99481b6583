"""Structured concurrency: every task belongs to a scope and ends with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from types import TracebackType
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
        """Run ``work`` in the background until it ends or the scope is closed.

        After the end of the scope ``work`` is dropped: see ``dropped``.
        """
        if self._closed:
            return dropped(work, name=name)
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


def dropped(work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    """Return a task that is cancelled before its first step: ``work`` never runs.

    For work that arrives while its owner ends, such as a last message of a server or a timer that
    was due. The caller cannot know that the owner has ended, so this is no failure.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    task.cancel()
    return task


async def _without_exit(work: Coroutine[Any, Any, T]) -> T:
    """Await ``work``; ``SystemExit``, which would end the loop, becomes a failure of the task."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, propagated_exceptions()):
            raise
        raise TaskEscaped(error) from error


class UserInterrupt(KeyboardInterrupt):
    """Ctrl+C of the user, raised by the signal handler of the ``pi`` command."""


class TaskEscaped(Exception):
    """Code raised an exception that is not an ``Exception``, e.g. ``SystemExit``."""

    def __init__(self, error: BaseException) -> None:
        try:
            text = str(error)
        except Exception:  # __str__ may be code of the extension
            text = ""
        super().__init__(f"It raised {type(error).__name__}{text and f': {text}'}.")


program_loops: list[asyncio.AbstractEventLoop] = []
"""The event loops of ``run_event_loop`` that run in this process."""


def propagated_exceptions() -> tuple[type[BaseException], ...]:
    """Exceptions that are not failures of the extension code during which they occur.

    In the ``pi`` command Ctrl+C is a ``UserInterrupt``: any other ``KeyboardInterrupt`` was raised
    by the extension itself. In a program that embeds pi, Ctrl+C is a plain ``KeyboardInterrupt``.
    """
    interrupt = UserInterrupt if program_loops else KeyboardInterrupt
    return (interrupt, asyncio.CancelledError)


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


async def maybe_await(value: Awaitable[T] | T) -> T:
    """Return the result of a function that may be sync or async."""
    return await value if isawaitable(value) else value


def _log_failure(name: str, error: BaseException) -> None:
    log.error("background task %r failed", name, exc_info=error)
