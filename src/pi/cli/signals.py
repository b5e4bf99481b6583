"""Ending on a signal: what is under way is cancelled, and so saves and closes what it has."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those that there are on this system."""


class Signalled(Exception):
    """A signal ended the work."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


async def until_signal(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` gives; ``Signalled`` once a signal has ended it and it has cleaned up.

    A second signal ends the program at once.
    """
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def end(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        task.cancel()

    with _told(end):
        try:
            return await task
        except asyncio.CancelledError:
            if not received:
                raise
            raise Signalled(received[0]) from None


@contextmanager
def _told(end: Callable[[int], None]) -> Iterator[None]:
    """Have ``end`` called for every signal that ends the program."""
    loop = asyncio.get_running_loop()
    numbers = [int(getattr(signal, name)) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        try:
            loop.add_signal_handler(number, end, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda number, _: loop.call_soon_threadsafe(end, number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
