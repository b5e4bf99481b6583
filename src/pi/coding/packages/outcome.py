"""What an installation or update brings, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from pi.base.records import Record

Change: TypeAlias = Literal["fetched", "current", "pinned", "kept", "in place"]
"""Brought here; already here; not to be moved; newer here than there; used where it is."""


class Outcome(Record):
    """One package, before and after."""

    change: Change
    before: str = ""
    """The version that was there; empty if there was none."""
    after: str = ""


class Arrival(Record):
    """A distribution that an installation brings."""

    name: str
    version: str
    before: str = ""
    """The version that it replaces; empty if there was none under this name."""


Approve: TypeAlias = Callable[[Sequence[Arrival]], Awaitable[None]]
"""Called with everything that an installation brings, before any of it counts.

Raises ``InstallDeclined`` to leave everything as it was.
"""


async def approve_all(arrivals: Sequence[Arrival]) -> None:
    """Ask no question."""


def settled(
    installed: str, wanted: str, *, pinned: bool, newer: bool, force: bool
) -> Outcome | None:
    """Why nothing has to be fetched; ``None`` if something has to.

    ``newer`` says whether ``wanted`` is above what is installed. A version that the person names
    is brought even if it is a lower one; what merely is the latest never takes us back. ``force``
    fetches again what is here.
    """
    if not installed or (installed == wanted and force):
        return None
    if installed == wanted:
        return Outcome(change="current", before=installed, after=installed)
    if not pinned and not newer:
        return Outcome(change="kept", before=installed, after=installed)
    return None
