"""Named phases of a start and of a run, for timing.

Without an observer a phase costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class PhaseObserver(Protocol):
    """Called for every phase; phases may be nested."""

    def began(self, name: str) -> None:
        """A phase starts."""

    def ended(self, name: str) -> None:
        """A phase ends, also after an error."""

    def ready(self) -> None:
        """The start is complete."""


_watchers: list[PhaseObserver] = []
"""Global to the process, like a start; sessions do not use it."""


@contextmanager
def observe_phases(watcher: PhaseObserver) -> Iterator[None]:
    """Report every phase inside the block to an observer."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Names the work inside the block; parts of names are separated by colons."""
    watchers = tuple(_watchers)
    for watcher in watchers:
        watcher.began(name)
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.ended(name)


def ready() -> None:
    """Call ``ready`` of all observers."""
    for watcher in tuple(_watchers):
        watcher.ready()
