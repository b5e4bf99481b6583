"""Calls extension code: its exceptions and cancellations affect only the call."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

from pi.base.tasks import EXTENSION_CODE, TaskEscaped, propagated_exceptions

T = TypeVar("T")


class HandlerTimeout(Exception):
    """A handler exceeded its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"It took longer than {seconds:g} seconds and was cancelled.")


class HandlerEnded(Exception):
    """A blocking handler was interrupted by the user."""

    def __init__(self) -> None:
        super().__init__("It did not return and was interrupted with Ctrl+C.")


class HandlerEscaped(TaskEscaped):
    """A handler raised an exception that is not an ``Exception``, e.g. ``SystemExit``."""


class HandlerCancelled(Exception):
    """A handler cancelled the task that called it, or awaited a cancelled task."""

    def __init__(self) -> None:
        super().__init__("It was cancelled, although pi did not cancel it.")


async def contained(
    call: Callable[[], Awaitable[T] | T],
    watch: Callable[[Awaitable[T]], Awaitable[T]] | None = None,
) -> T:
    """Call a function of an extension, sync or async; every failure becomes an ``Exception``.

    ``watch`` wraps the awaitable of an async function. A cancellation from outside propagates. One
    that the function caused itself does not, because it would cancel the run, or the whole program,
    that called the function.
    """
    task = asyncio.current_task()
    assert task is not None
    before, own = task.cancelling(), _OwnCancellations(task)
    caller = EXTENSION_CODE.get()
    EXTENSION_CODE.set(call)
    try:
        result = own.counted(call)
        if inspect.isawaitable(result):
            work = _steps(_as_coroutine(result), own)
            result = await (watch(work) if watch else work)
    except HandlerEscaped:
        await own.undo()
        raise
    except asyncio.CancelledError:
        if before or task.cancelling() > own.count:
            raise
        await own.undo()
        raise HandlerCancelled from None
    finally:
        # Not ``reset``: it fails if the coroutine is closed in another context.
        EXTENSION_CODE.set(caller)
    if own.count:
        await own.undo()
        raise HandlerCancelled
    return result


class _OwnCancellations:
    """Counts how often code that runs in a task has cancelled that task."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self.count = 0

    def counted(self, step: Callable[[], T]) -> T:
        """Run a step of that code. No other code runs meanwhile, so new cancellations are its."""
        before = self._task.cancelling()
        try:
            return step()
        except Exception:
            raise
        except propagated_exceptions():
            raise
        except BaseException as error:  # SystemExit, GeneratorExit, groups, or a custom type
            raise HandlerEscaped(error) from error
        finally:
            # May be lower than before: a timeout of the code has withdrawn its own cancellation.
            if (after := self._task.cancelling()) > before:
                self.count += after - before

    async def undo(self) -> None:
        """Withdraw the cancellations; a pending one is delivered and caught here."""
        if not self.count:
            return
        for _ in range(self.count):
            self._task.uncancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._task.cancelling():
                raise


async def _as_coroutine(work: Awaitable[T]) -> T:
    return await work


@types.coroutine
def _steps(work: Coroutine[Any, None, T], own: _OwnCancellations) -> Generator[Any, None, T]:
    """Await ``work``, counting in each step how often it cancels the task."""
    resume: Callable[[], Any] = partial(work.send, None)
    while True:
        try:
            awaited = own.counted(resume)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            yield awaited
            resume = partial(work.send, None)
        except GeneratorExit:  # the task itself is being closed
            work.close()
            raise
        except BaseException as error:
            resume = partial(work.throw, error)
