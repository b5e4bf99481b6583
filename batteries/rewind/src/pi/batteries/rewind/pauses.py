"""Lets the event loop run while a thread works through many items.

Python switches threads only after 5 ms, and a thread that makes short system calls gets the
interpreter lock back before others wake up: key presses would wait. Hence a pause after about half
a millisecond of work.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

COMPARED = 500
"""Stamps that are compared, or paths that are listed, between two pauses."""
CODED = 50
"""Rows that are encoded or decoded between two pauses."""
READ = 5
"""Files that are read and hashed between two pauses."""
PAUSE_SECONDS = 20e-6
"""Not zero: ``sleep(0)`` gets the interpreter lock back before other threads wake up."""
T = TypeVar("T")


def pause() -> None:
    """Let the other threads run."""
    time.sleep(PAUSE_SECONDS)


def in_slices(items: Iterable[T], size: int = COMPARED) -> Iterator[T]:
    """Yield all items, with a pause after every ``size`` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % size == 0:
            pause()
