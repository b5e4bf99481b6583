"""Calls extension code: its exceptions affect only the call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pi.base.tasks import TaskEscaped, propagated_exceptions

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
    """A handler awaited a cancelled task, or raised ``CancelledError`` itself."""

    def __init__(self) -> None:
        super().__init__("It was cancelled, although pi did not cancel it.")


async def contained(
    call: Callable[[], Awaitable[T] | T],
    watch: Callable[[Awaitable[T]], Awaitable[T]] | None = None,
) -> T:
    """Call a function of an extension, sync or async; every failure becomes an ``Exception``.

    ``watch`` wraps the awaitable of an async function. A cancellation of the calling task
    propagates. ``CancelledError`` of a function that nobody has cancelled does not: it would
    cancel the run that called the function.
    """
    task = asyncio.current_task()
    try:
        result = call()
        if inspect.isawaitable(result):
            result = await (watch(result) if watch else result)
    except (Exception, GeneratorExit):  # GeneratorExit: the task itself is being closed
        raise
    except asyncio.CancelledError:
        if task is None or task.cancelling():
            raise
        raise HandlerCancelled from None
    except propagated_exceptions():
        raise
    except BaseException as error:  # SystemExit, groups, or a custom type
        raise HandlerEscaped(error) from error
    return result
