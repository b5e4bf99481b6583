"""Named stretches of a start and of a run, for whoever wants to know where the time goes.

As a rule nobody watches, and then a phase costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class PhaseObserver(Protocol):
    """Is told of every phase while it happens; phases may lie inside each other."""

    def began(self, name: str) -> None:
        """A phase begins."""

    def ended(self, name: str) -> None:
        """It is over, however it went."""

    def ready(self) -> None:
        """What was to be watched has happened."""


_watchers: list[PhaseObserver] = []
"""Of the whole process, as a start is; sessions have no part in it."""


@contextmanager
def observe_phases(watcher: PhaseObserver) -> Iterator[None]:
    """Have somebody told of all phases inside."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """What happens inside has a name; parts of names are separated by colons."""
    watchers = tuple(_watchers)
    for watcher in watchers:
        watcher.began(name)
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.ended(name)


def ready() -> None:
    """Tell all who watch that they have seen what there is to see."""
    for watcher in tuple(_watchers):
        watcher.ready()
