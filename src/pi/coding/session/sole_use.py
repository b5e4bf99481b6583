"""Doing something with a session that nobody has open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi.coding.session.locking import lock_session


@contextmanager
def sole_use(path: Path) -> Iterator[None]:
    """Keep others from opening the session for the time of ``with``; ``SessionInUse`` if one has.

    Where no lock can be made, as in a directory that cannot be written to, there is none.
    """
    lock = lock_session(path)
    try:
        yield
    finally:
        if lock is not None:
            lock.__exit__()
