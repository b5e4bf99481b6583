"""What goes wrong in an extension: how it is kept from spreading, and how it is reported."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.bus import PASSED_ON

T = TypeVar("T")


class ExtensionFailed(Record, tag="extension_error"):
    """A handler of an extension failed; the rest goes on."""

    extension_path: str
    event: str
    error: str


class ExtensionError(PiError):
    """An extension asked for something that cannot be, or could not be loaded."""


class StaleSession(ExtensionError):
    """A handle of a session that another one has replaced."""

    def __init__(self) -> None:
        super().__init__(
            "This handle belongs to a session that is over.",
            hint="extension(pi) has been called again for the session that took its place.",
        )


class HandlerTimeout(Exception):
    """A handler took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"It took longer than {seconds:g} seconds and was cancelled.")


class HandlerEnded(Exception):
    """A handler did not return by itself."""

    def __init__(self) -> None:
        super().__init__("It did not return, and was ended with Ctrl+C.")


class HandlerEscaped(Exception):
    """A handler raised what would have ended more than its own work."""

    def __init__(self, problem: BaseException) -> None:
        text = _text(problem)
        super().__init__(f"It raised {type(problem).__name__}{text and f': {text}'}.")


class HandlerCancelled(Exception):
    """A handler cancelled the task that called it, or awaited something that was cancelled."""

    def __init__(self) -> None:
        super().__init__("It was cancelled, although pi did not cancel it.")


async def contained(
    call: Callable[[], Awaitable[T] | T],
    watch: Callable[[Awaitable[T]], Awaitable[T]] | None = None,
) -> T:
    """The result of a function of an extension, sync or async; every failure is an ``Exception``.

    ``watch`` is put around what has to be awaited. A cancellation from outside passes through;
    one that the function caused itself does not, because it would cancel the run, or the whole
    program, that called the function.
    """
    task = asyncio.current_task()
    assert task is not None
    before, own = task.cancelling(), _OwnCancellations(task)
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
    if own.count:
        await own.undo()
        raise HandlerCancelled
    return result


class _OwnCancellations:
    """How often code that runs in a task has cancelled this very task."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task
        self.count = 0

    def counted(self, step: Callable[[], T]) -> T:
        """Run a step of that code. Nothing else runs meanwhile, so every request is its own."""
        before = self._task.cancelling()
        try:
            return step()
        except (Exception, *PASSED_ON):
            raise
        except BaseException as problem:  # SystemExit, GeneratorExit, groups, or a type of its own
            raise HandlerEscaped(problem) from problem
        finally:
            # Fewer than before: a timeout of the code has taken its own request back.
            if (after := self._task.cancelling()) > before:
                self.count += after - before

    async def undo(self) -> None:
        """Take the requests back; one that is still to be delivered is delivered here."""
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
            waited_for = own.counted(resume)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            yield waited_for
            resume = partial(work.send, None)
        except GeneratorExit:  # the task itself is closed: not the extension's doing
            work.close()
            raise
        except BaseException as problem:
            resume = partial(work.throw, problem)


def words(problem: BaseException) -> str:
    """A failure in one line."""
    text = problem.message if isinstance(problem, PiError) else _text(problem)
    return text or type(problem).__name__


def _text(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # which is code of the extension, too
        return ""
