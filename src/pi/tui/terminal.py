"""What the screen is shown on: a terminal, real or virtual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pi.base.records import Record


class Size(Record):
    """Character cells."""

    columns: int
    rows: int


class Listener(Record, kw_only=False):
    """What to call when something happens at the terminal."""

    on_input: Callable[[bytes], None]
    """Bytes arrived, cut anywhere."""
    on_resize: Callable[[], None]
    """The size may have changed."""
    on_resume: Callable[[], None]
    """The process was stopped and goes on; the terminal may show anything."""
    on_gone: Callable[[], None]
    """The terminal is no more; nothing that is written will be seen."""


class Terminal(Protocol):
    """Takes bytes and gives bytes."""

    @property
    def size(self) -> Size:
        """The size now."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that were written but not taken yet; nobody should write frames meanwhile."""
        ...

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Begin to deliver input. However the program ends, ``restore()`` is written before."""
        ...

    def write(self, data: str) -> None:
        """Send characters; returns at once."""
        ...

    def stop(self) -> None:
        """Write what is left, then give the terminal back as it was."""
        ...

    def suspend(self) -> None:
        """Give the terminal back and stop the process, until somebody continues it."""
        ...
